// Steps an SDF world as Gazebo does: read by sdformat, integrated by gz-physics with its DART plugin.
//
// stepper WORLD.sdf PLUGIN.so, then one command a line on standard input:
//
//   joints                 names of the joints that move, one line
//   set JOINT Q V          position and velocity
//   effort JOINT TAU       motor effort from now on; ends a hold
//   hold JOINT             velocity command of zero from now on, as gz_ros2_control gives to a joint that nobody commands
//   watch JOINT ...        joints whose wrench is printed, at their child link
//   where LINK             position of a link's origin in the world
//   run STEPS EVERY        a line after each EVERY steps: positions, velocities, then six numbers for each watched joint:
//                          force and torque that the parent exerts on the child, in axes of the joint
//
// Every command is answered by a line `ok` or `error ...`, after what it prints.

#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <ignition/physics/ForwardStep.hh>
#include <ignition/physics/FrameSemantics.hh>
#include <ignition/physics/GetEntities.hh>
#include <ignition/physics/Joint.hh>
#include <ignition/physics/RequestEngine.hh>
#include <ignition/physics/sdf/ConstructWorld.hh>
#include <ignition/plugin/Loader.hh>
#include <sdf/Joint.hh>
#include <sdf/Link.hh>
#include <sdf/Model.hh>
#include <sdf/Physics.hh>
#include <sdf/Root.hh>
#include <sdf/World.hh>

namespace physics = ignition::physics;

using Features = physics::FeatureList<physics::ForwardStep, physics::GetEntities, physics::GetBasicJointState,
                                      physics::SetBasicJointState, physics::GetBasicJointProperties,
                                      physics::SetJointVelocityCommandFeature, physics::GetJointTransmittedWrench,
                                      physics::JointFrameSemantics, physics::LinkFrameSemantics, physics::sdf::ConstructSdfWorld>;
using Joint = physics::Joint3dPtr<Features>;

struct Moved {
  std::string name;
  Joint joint;
  double effort = 0.0;
  bool held = false;
};

int main(int count, char **given) {
  if (count != 3) {
    std::cerr << "usage: stepper WORLD.sdf PLUGIN.so\n";
    return 2;
  }
  sdf::Root root;
  const sdf::Errors errors = root.Load(given[1]);
  for (const auto &error : errors) std::cerr << error.Message() << "\n";
  if (!errors.empty() || root.WorldCount() != 1) return 1;
  const sdf::World &world = *root.WorldByIndex(0);
  const double step = world.PhysicsByIndex(0)->MaxStepSize();

  ignition::plugin::Loader loader;
  loader.LoadLib(given[2]);
  auto plugin = loader.Instantiate("ignition::physics::dartsim::Plugin");
  auto engine = physics::RequestEngine3d<Features>::From(plugin);
  if (!engine) {
    std::cerr << "no engine with these features in " << given[2] << "\n";
    return 1;
  }
  auto simulated = engine->ConstructWorld(world);
  if (!simulated) return 1;

  std::vector<Moved> moved;
  std::map<std::string, std::size_t> index;
  std::map<std::string, Joint> all;
  std::map<std::string, physics::Link3dPtr<Features>> links;
  for (std::size_t m = 0; m < simulated->GetModelCount(); ++m) {
    auto model = simulated->GetModel(m);
    for (std::size_t l = 0; l < model->GetLinkCount(); ++l) links[model->GetLink(l)->GetName()] = model->GetLink(l);
    for (std::size_t j = 0; j < model->GetJointCount(); ++j) {
      auto joint = model->GetJoint(j);
      all[joint->GetName()] = joint;
      if (joint->GetDegreesOfFreedom() != 1) continue;
      index[joint->GetName()] = moved.size();
      moved.push_back({joint->GetName(), joint});
    }
  }
  std::vector<Joint> watched;
  physics::ForwardStep::Input input;
  physics::ForwardStep::State state;
  physics::ForwardStep::Output output;
  input.Get<std::chrono::steady_clock::duration>() =
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(step));

  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string command, name, wrong;
    words >> command;
    if (command == "joints") {
      for (const auto &one : moved) std::cout << one.name << " ";
      std::cout << "\n";
    } else if (command == "where") {
      words >> name;
      if (links.count(name)) {
        const auto place = links[name]->FrameDataRelativeToWorld().pose.translation();
        std::printf("%.17g %.17g %.17g\n", place[0], place[1], place[2]);
      } else {
        wrong = "no link " + name;
      }
    } else if (command == "watch") {
      watched.clear();
      while (words >> name) {
        if (all.count(name)) watched.push_back(all[name]);
        else wrong = "no joint " + name;
      }
    } else if (command == "set" || command == "effort" || command == "hold") {
      double first = 0.0, second = 0.0;
      words >> name;
      if (!index.count(name)) {
        wrong = "no joint " + name;
      } else {
        Moved &one = moved[index[name]];
        if (command == "hold") {
          one.held = true;
        } else if (!(words >> first) || (command == "set" && !(words >> second))) {
          wrong = "no number in: " + line;
        } else if (command == "set") {
          one.joint->SetPosition(0, first);
          one.joint->SetVelocity(0, second);
        } else {
          one.held = false;
          one.effort = first;
        }
      }
    } else if (command == "run") {
      long steps = 0, every = 0;
      if (!(words >> steps >> every) || every < 1) wrong = "no numbers in: " + line;
      for (long i = 1; wrong.empty() && i <= steps; ++i) {
        for (auto &one : moved) {
          if (one.held) one.joint->SetVelocityCommand(0, 0.0);
          else one.joint->SetForce(0, one.effort);
        }
        simulated->Step(output, state, input);
        if (i % every) continue;
        for (const auto &one : moved) std::printf("%.17g ", one.joint->GetPosition(0));
        for (const auto &one : moved) std::printf("%.17g ", one.joint->GetVelocity(0));
        for (const auto &joint : watched) {
          const auto wrench = joint->GetTransmittedWrench();
          for (int k = 0; k < 3; ++k) std::printf("%.17g ", wrench.force[k]);
          for (int k = 0; k < 3; ++k) std::printf("%.17g ", wrench.torque[k]);
        }
        std::printf("\n");
      }
    } else {
      wrong = "unknown command: " + line;
    }
    std::fflush(stdout);
    std::cout << (wrong.empty() ? "ok" : "error " + wrong) << std::endl;
  }
  return 0;
}
