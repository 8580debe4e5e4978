"""Defects for `mutations.py`: where each is planted, and the cheapest command that must notice it."""

from __future__ import annotations

from typing import NamedTuple


class Planted(NamedTuple):
    """A defect.

    Attributes:
        name: what is wrong, in words.
        file: source file, under ``src/``.
        old: text that is replaced; it must stand there exactly once.
        new: text that replaces it.
        catch: what must notice it: kinds of `flexarm faults`, or tests of pytest (with ``::``).
    """

    name: str
    file: str
    old: str
    new: str
    catch: str


GATE, NODES = "flexarm_core/hardware_gate", "flexarm_nodes"
FAULT_CASES = "test/tools/test_faults_cases.py"
CORE_TESTS, NODE_TESTS = "test/core/hardware_gate", "test/nodes"
BENDING, BENDING_TESTS = "flexarm_core/flexible_dynamics", "test/core/flexible_dynamics"
FRAMES, ODOMETRY = f"{NODE_TESTS}/test_frame_tree.py", f"{NODE_TESTS}/test_base_odometry.py"
REFUSES = "test_a_law_in_another_node_refuses_gains_that_do_not_bear_the_delay_that_the_messages_tell"
TRAJECTORIES = "test/core/joint_trajectory/test_follower.py"
RNS, BASES = "flexarm_core/reaction_null_space", "test/core/reaction_null_space/test_wrong_base.py"

PLANTED = (
    # The state machine of the gate
    Planted(
        "NaN in references is taken", f"{GATE}/references.py",
        "if not all_finite(value):", "if False:", "references_not_numbers",
    ),
    Planted(
        "states stamped ahead of the clock are taken", f"{GATE}/timing.py",
        "if age < -self._config.reference_timeout:", "if age < -1e9:", "state_ahead",
    ),
    Planted(
        "references stamped ahead of the states are taken", f"{GATE}/references.py",
        "if ahead > self._timeout:", "if ahead > 1e9:", "references_ahead",
    ),
    Planted(
        "good references end a trip", f"{GATE}/gate.py",
        "if machine.ending or machine.state is GateState.TRIPPED:", "if machine.ending:",
        f"{CORE_TESTS}/test_interruption.py"
        "::test_good_references_that_come_before_their_states_end_a_stop_and_no_trip",
    ),
    Planted(
        "a stop has no reason", f"{GATE}/state_machine.py",
        "self.state, self.reason = GateState.STOPPING, reason", 'self.state, self.reason = GateState.STOPPING, ""',
        "references_lost",
    ),
    Planted(
        "lost states are noticed after twice the time", f"{GATE}/gate.py",
        "        if silence > self.config.state_timeout:\n            machine.stop(",
        "        if silence > 2.0 * self.config.state_timeout:\n            machine.stop(", "states_lost",
    ),
    Planted(
        "lost references are noticed after three times the time",
        f"{GATE}/config.py",
        "reference_timeout: float = setting(0.08,",
        "reference_timeout: float = setting(0.24,",
        "references_lost",
    ),
    Planted(
        "a stop ends while the arm still moves", f"{GATE}/gate.py",
        "and not waits and machine.seen and commands.is_slow(state)", "and not waits",
        "reading_spike",
    ),
    Planted(
        "a stop never ends", f"{GATE}/gate.py",
        "and not waits and machine.seen and commands.is_slow(state)", "and False", "references_lost",
    ),
    Planted(
        "the fallback is never asked for where nothing is measured", f"{GATE}/gate.py",
        "machine.fallback or lost or missed > longest", "machine.fallback", "states_lost",
    ),
    Planted(
        "a clock that was set back is taken for messages out of order",
        f"{GATE}/arrivals.py",
        "        if back > bound:\n            return True\n",
        "",
        "clock_back",
    ),
    # Jerk limits of the gate
    Planted(
        "stops ignore the jerk limit", f"{GATE}/command_law.py",
        "            if self._ramp is None:\n                rate = self.braking.rate(",
        "            if True:\n                rate = self.braking.rate(",
        f"{CORE_TESTS}/test_jerk.py::test_starts_stops_trips_and_bridged_gaps_of_a_gate_keep_the_jerk_limits",
    ),
    Planted(
        "position limits are kept without what the jerk limit takes", f"{GATE}/jerk.py",
        "    return way + (u - np.sign(u) * b) + np.sign(u) * fall", "    return way",
        f"{CORE_TESTS}/test_jerk.py"
        "::test_commands_keep_velocity_acceleration_jerk_and_position_limits_in_motion_and_in_stops",
    ),
    Planted(
        "an acceleration that has to end is not counted for the velocity limit", f"{GATE}/jerk.py",
        "high = max(min(start_of(table[VELOCITY, i] / dt - u, most, d), highest), stop)",
        "high = max(min(table[VELOCITY, i] / dt - u, highest), stop)",
        f"{CORE_TESTS}/test_jerk.py"
        "::test_commands_keep_velocity_acceleration_jerk_and_position_limits_in_motion_and_in_stops",
    ),
    # Believable states
    Planted(
        "jumps of the velocity are believed", f"{GATE}/belief.py",
        "<= 0.5 * limit + sudden * table[ACCELERATION, i]", "<= 1e9 * limit", f"{CORE_TESTS}/test_belief.py"
        "::test_a_velocity_that_jumps_too_far_is_believed_only_if_the_position_shows_it",
    ),
    Planted(
        "a hand that is lighter than told is taken for a sensor that lies", f"{GATE}/belief.py",
        "        if apart <= SHOWN * jump * dt:", "        if False:", f"{CORE_TESTS}/test_belief.py",
    ),
    Planted(
        "a joint that reverses is taken for an encoder that counts backward", f"{GATE}/belief.py",
        " and not shown and ", " and ", f"{CORE_TESTS}/test_belief.py",
    ),
    Planted(
        "velocities are believed though the joint does not move", f"{GATE}/belief.py",
        "        if not apart <= 0.5 * RESOLUTION + SHOWN", "        if not apart <= 1e9 + SHOWN",
        f"{CORE_TESTS}/test_belief.py",
    ),
    Planted(
        "what accelerates the arm is taken for a load that lasts", f"{GATE}/observed_dynamics.py",
        "            lacking -= o.share[0]", "            lacking -= 0.0 * o.share[0]",
        f"{CORE_TESTS}/test_observed_dynamics.py",
    ),
    Planted(
        "a servo that has become weak stays so", f"{GATE}/observed_dynamics.py",
        "        o.share[0] += max(FIRST - o.share[0], 0.0) * slowly", "        o.share[0] += 0.0",
        f"{CORE_TESTS}/test_observed_dynamics.py",
    ),
    Planted(
        "damping that is told is compensated in a stop", f"{GATE}/joint_dynamics.py",
        "blocks.H_m.copy(), blocks.c_m.copy()", "blocks.H_m.copy(), blocks.c_m + self.model.D_m * state.velocity",
        f"{CORE_TESTS}/test_joint_dynamics.py",
    ),
    Planted(
        "positions need not fit the velocities", f"{GATE}/belief.py",
        "<= stepped + RESOLUTION + 0.25 * limit * min(dt, SUDDEN) + 0.5 * change * dt", "<= 1e9",
        f"{CORE_TESTS}/test_belief.py"
        "::test_a_joint_that_is_said_to_be_where_none_can_be_is_not_believed_though_states_agree",
    ),
    Planted(
        "states that agree two by two hide velocities that read too little", f"{GATE}/belief.py",
        "self.torn = torn\n            return", "self.torn = 0.0\n            return", f"{CORE_TESTS}/test_belief.py",
    ),
    Planted(
        "frozen readings are believed", f"{GATE}/belief.py",
        'return self._freeze(state, joint, partial=self._still.partial) if joint >= 0 else ""', 'return ""',
        "states_frozen",
    ),
    # Limits, braking and laws of the gate
    Planted(
        "position limits are ignored", f"{NODES}/hardware_gate/parameters.py",
        "lower=model.lower,\n        upper=model.upper,",
        "lower=model.lower - 1e3,\n        upper=model.upper + 1e3,",
        "led_beyond_limits",
    ),
    Planted(
        "accelerations of four times the limit", f"{NODES}/hardware_gate/parameters.py",
        "acceleration=np.where(np.isfinite(acceleration), acceleration, usual_acceleration(velocity)),",
        "acceleration=4.0 * usual_acceleration(velocity),", "wild_source",
    ),
    Planted(
        "velocities of 1.3 times the limit", f"{NODES}/hardware_gate/parameters.py",
        "        velocity=velocity,", "        velocity=1.3 * velocity,", "wild_source",
    ),
    Planted(
        "position limits are approached as if the joint braked at once", f"{GATE}/command_law.py",
        "hardest_braking(self._limits, v), settling", "hardest_braking(self._limits, v)",
        f"{CORE_TESTS}/test_softness.py",
    ),
    Planted(
        "braking throws a joint back", f"{GATE}/command_law.py",
        "np.minimum(limits.acceleration + servo / settling, np.abs(v) / settling)",
        "limits.acceleration + servo / settling", f"{CORE_TESTS}/test_command_law.py",
    ),
    Planted(
        "efforts of 1.5 times the limit", f"{NODES}/hardware_gate/parameters.py",
        "        effort=model.effort_limit,", "        effort=1.5 * model.effort_limit,",
        f"{NODE_TESTS}/test_gate_parameters.py",
    ),
    Planted(
        "limits that are no numbers are taken", f"{NODES}/hardware_gate/parameters.py",
        "if not all(0.0 <= value < np.inf for value in values):", "if any(value < 0.0 for value in values):",
        "bad_limits",
    ),
    Planted(
        "a stop hardly brakes", f"{GATE}/braking.py",
        "wanted = -2.0 * w * state.velocity", "wanted = -0.02 * w * state.velocity", "references_lost",
    ),
    Planted(
        "an arm at rest is not held in a stop", f"{GATE}/braking.py",
        "wanted += stiffness * (self._hold - state.position)", "wanted += 0.0 * (self._hold - state.position)",
        f"{CORE_TESTS}/test_braking.py",
    ),
    Planted(
        "set points of a stop do not slow down", f"{GATE}/braking.py",
        "return rate - np.clip(rate, -most, most)", "return rate", "references_lost",
    ),
    Planted(
        "the first command is nothing but zero", f"{GATE}/command_law.py",
        "        self.command, self._advanced = command, True\n",
        "        command = command if self.command is not None else 0.0 * command\n"
        "        self.command, self._advanced = command, True\n",
        "none",
    ),
    # The supervisor
    Planted(
        "a base beyond its limits is let pass", f"{GATE}/supervisor.py",
        "        if place < 0:", "        if True:", f"{CORE_TESTS}/test_supervisor.py",
    ),
    Planted(
        "a joint far from its reference is let pass", f"{GATE}/supervisor.py",
        "        if far >= 0:", "        if False:", f"{CORE_TESTS}/test_supervisor.py",
    ),
    Planted(
        "stops are not counted", f"{GATE}/supervisor.py",
        "        self._stopped.append(time)\n", "        self._stopped.clear()\n        self._stopped.append(time)\n",
        f"{CORE_TESTS}/test_supervisor.py",
    ),
    Planted(
        "efforts may stay at their limits", f"{GATE}/supervisor.py",
        "if self._saturated > self._config.max_saturation_time:", "if False:", f"{CORE_TESTS}/test_supervisor.py",
    ),
    Planted(
        "a stop that does not slow the arm is not noticed", f"{GATE}/speed_watch.py",
        "        self.begin_stop()\n        return name\n", '        self.begin_stop()\n        return ""\n',
        f"{CORE_TESTS}/test_gate.py"
        "::test_joints_that_a_stop_on_late_states_makes_faster_ask_for_the_fallback",
    ),
    Planted(
        "the age of states is that of the newest", f"{GATE}/arrivals.py",
        "sorted(self._ages)[LATE // 2]", "self._ages[-1]", f"{CORE_TESTS}/test_arrivals.py",
    ),
    # Laws
    Planted(
        "vibration: the base is never damped",
        "flexarm_core/reaction_null_space/vibration/law_memory.py",
        "damped=config.vibration_damping,",
        "damped=False,",
        "test/core/reaction_null_space/test_vibration_controller.py::test_the_damped_base_obeys_equation_13",
    ),
    Planted(
        "vibration: the inertia of a base whose arm yields has the wrong sign",
        "flexarm_core/reaction_null_space/vibration/torque_law.py",
        "return blocks.H_b - blocks.H_bm", "return blocks.H_b + blocks.H_bm",
        "test/core/reaction_null_space/test_torque_law.py",
    ),
    Planted(
        "vibration: the law never gives up", "flexarm_core/reaction_null_space/vibration/motion_guard.py",
        "        if distance > largest:", "        if False:",
        "test/core/reaction_null_space/test_motion_guard.py"
        "::test_a_tool_far_from_its_path_is_said_and_one_that_is_too_far_ends_the_law",
    ),
    Planted(
        "flexible: gains that shake the arm pass the check",
        "flexarm_core/flexible_dynamics/control/gain_check.py",
        "if loop.spectral_radius > 1.0 + GROWTH:", "if False:", "test/core/flexible_dynamics/test_gain_check.py"
        "::test_gains_are_refused_for_what_they_do_to_the_arm_though_velocities_are_quiet",
    ),
    Planted(
        "flexible: efforts beyond the limits are clipped one by one",
        "flexarm_core/flexible_dynamics/control/controller.py",
        "return weight + memory.limited * demand", "return np.clip(effort, -self._limit, self._limit)",
        "test/core/flexible_dynamics/test_gain_check.py::test_a_reduced_demand_has_the_direction_of_the_whole_one",
    ),
    Planted(
        "behavior: joint limits attract", "flexarm_core/behavior_impedance/behaviors/joint_limits.py",
        "sign = 1.0 if side == 0 else -1.0", "sign = -1.0 if side == 0 else 1.0",
        "test/core/behavior_impedance/test_joint_limits.py",
    ),
    Planted(
        "behavior: a tool that is stalled is not noticed", "flexarm_core/behavior_impedance/progress.py",
        "return self._time > PATIENCE", "return False", "test/core/behavior_impedance/test_progress.py",
    ),
    Planted(
        "base wrench: friction is overcompensated", "flexarm_core/base_wrench/torque_loop.py",
        "share = 1.0 - math.exp(-z.bandwidth * dt)", "share = -math.expm1(z.bandwidth * dt)",
        "test/core/base_wrench/test_torque_loop.py",
    ),
    Planted(
        "base wrench: the bias is tracked while the arm moves", "flexarm_core/base_wrench/bias_tracking.py",
        "if not still or rested[0] < settings.rest_time:", "if False:", "test/core/base_wrench/test_bias_tracking.py",
    ),
    # Nodes
    Planted(
        "a stop is only a warning", f"{NODES}/hardware_gate/output.py",
        'return ERROR, f"controlled stop: {why}"', 'return WARN, f"controlled stop: {why}"',
        f"{NODE_TESTS}/test_gate_output.py",
    ),
    Planted(
        "commands come in the order of the model", f"{NODES}/hardware_gate/output.py",
        "_command_form(command[self._order])", "_command_form(command)",
        f"{NODE_TESTS}/test_hardware_gate.py::test_commands_come_in_the_order_that_the_command_controller_has",
    ),
    Planted(
        "a second writer is not seen", f"{NODES}/hardware_gate/output.py",
        "if self._writers and commands_it and not self._gate.status.fallback:", "if False:",
        f"{NODE_TESTS}/test_hardware_gate.py::test_a_second_writer_trips_the_gate_until_it_has_gone_and_somebody_has_looked",
    ),
    Planted(
        "old states reach the gate of a control loop", f"{NODES}/control_loop/loop.py",
        "age = None if self._lockstep else self.age_of(stamp)", "age = None",
        f"{NODE_TESTS}/test_control_loop.py::test_a_state_that_is_old_when_it_arrives_is_not_answered",
    ),
    Planted(
        "joint states of stages are not told from those of others", f"{NODES}/node/input/readings.py",
        "            elif kept and abs(", "            elif False and abs(", f"{NODE_TESTS}/test_readings.py",
    ),
    Planted(
        "a reference of the future is used", f"{NODES}/node/input/references.py",
        "        if ahead <= AHEAD:", "        if True:",
        f"{NODE_TESTS}/test_input_rules.py::test_a_reference_that_is_stamped_ahead_is_ignored_and_does_not_shut_out_those_of_now",
    ),
    Planted(
        "joint references keep the order of their message", f"{NODES}/messages/conversions.py",
        "fields[field] = value if order is None else value[order]", "fields[field] = value",
        f"{NODE_TESTS}/test_joint_reference.py",
    ),
    Planted(
        "a wrench in another frame is taken for one in the sensor's", f"{NODES}/node/input/wrench_frames.py",
        "return WrenchElsewhere(placed, wrench) if isinstance(placed, MovingFrame) else transformed(placed, wrench)",
        "return wrench", f"{NODE_TESTS}/test_wrench_frames.py",
    ),
    # Bases that are not as described
    Planted(
        "computed torque believes the described springs of the base", f"{RNS}/vibration/law.py",
        "    if s.base_bandwidth <= 0.0 or dt <= 0.0:", "    if True:", BASES,
    ),
    Planted(
        "the observer of the base takes joints that yield for rigid ones", f"{RNS}/vibration/law.py",
        "x.terms.H_b if s.led else x.terms.H_b - yielded_inertia(x.terms.H_bm, x.terms.H_m)",
        "x.terms.H_b", BASES,
    ),
    Planted(
        "the gain check takes the base for one as described", f"{RNS}/stability/sampled_model.py",
        "lacking = law.share @ (w * w", "lacking = 0.0 * law.share @ (w * w", BASES,
    ),
    # Payloads that nobody described
    Planted(
        "the load is forgotten when the fallback is requested", f"{GATE}/observed_dynamics.py",
        "seen.w[:], seen.z[:] = seen.lasting,", "seen.w[:], seen.z[:] = 0.0,",
        f"{CORE_TESTS}/test_observed_dynamics.py"
        "::test_what_bears_a_load_is_kept_while_others_have_the_drives_and_when_control_begins_again",
    ),
    Planted(
        "a reset goes on from commands that the drives never got", f"{GATE}/gate.py",
        "law.restart(self._trust.state, bears=True)  # others", "law.observed.reset()  # others",
        f"{CORE_TESTS}/test_gate.py::test_after_the_fallback_had_the_drives_commands_begin_anew",
    ),
    Planted(
        "an arm with a load may be one with a light hand", f"{GATE}/observed_dynamics.py",
        "least = FIRST if self._load.loaded else LEAST", "least = LEAST", FAULT_CASES,
    ),
    Planted(
        "a stop gives its effort to those alone who look at the answers to states", f"{GATE}/gate.py",
        "return commands.sent if command is None and again else command", "return command",
        f"{CORE_TESTS}/test_gate.py",
    ),
    Planted(
        "a load that is picked up is judged by what was seen before it", f"{GATE}/observed_dynamics.py",
        "elif self._load.lacks and escapes and self._calm > CALM:", "elif False:",
        f"{CORE_TESTS}/test_observed_dynamics.py",
    ),
    Planted(
        "a load that is lost is borne on", f"{GATE}/observed_dynamics.py",
        "            if escapes and since < FILTER:\n", "            if False:\n",
        f"{CORE_TESTS}/test_observed_dynamics.py",
    ),
    Planted(
        "a hand lighter than told is not looked for", f"{GATE}/load/tool_load.py",
        "if rigid and (proven or likely):", "if False:", f"{CORE_TESTS}/test_observed_dynamics.py",
    ),
    Planted(
        "a load that was lost long ago is kept", f"{GATE}/observed_dynamics.py",
        "            self._load.forget()\n", "", f"{CORE_TESTS}/test_observed_dynamics.py",
    ),
    Planted(
        "errors of accelerations do not move a load at its lever", f"{GATE}/load/tool_load.py",
        "square += (AROUND * lever) ** 2", "square += 0.0 * lever", f"{CORE_TESTS}/test_tool_load.py",
    ),
    Planted(
        "a load that is nearly a point is taken for a larger ball", f"{GATE}/load/candidates.py",
        "new[4] = min(max(ball[4] + slope[4], SMALLEST), LARGEST)", "new[4] = 0.0", f"{CORE_TESTS}/test_tool_load.py",
    ),
    Planted(
        "a heavy load is sought with the noise of none", f"{GATE}/load/tool_load.py",
        "((given.inertia[j, i] + state.heaviest[j, i]) * noise[i]) ** 2", "(given.inertia[j, i] * noise[i]) ** 2",
        f"{CORE_TESTS}/test_unknown_load.py",
    ),
    Planted(
        "a mean of torques is compared with the motion at its end", f"{GATE}/load/tool_load.py",
        "row[k] += given.new * (now[k] - row[k])",
        "row[k] = now[k] if k > 1 else row[k] + given.new * (now[k] - row[k])",
        f"{CORE_TESTS}/test_tool_load.py",
    ),
    Planted(
        "a load is taken for commands that act late", f"{GATE}/response.py",
        "if load is not None and load.any() and not (self._loaded or model.m):", "if False:",
        f"{CORE_TESTS}/test_unknown_load.py",
    ),
    Planted(
        "over an elastic base each joint is limited alone", f"{GATE}/command_law.py",
        "if self._model.m and (np.abs(effort) >", "if False and (np.abs(effort) >", f"{CORE_TESTS}/test_gate.py",
    ),
    # Sensors that lie, and what is believed again
    Planted(
        "joints whose readings have never stood still may stop at once", f"{GATE}/stillness.py",
        "        if r.repeats[i] >= STILL:\n            r.quiet[i] = 1.0", "        r.quiet[i] = 1.0",
        f"{CORE_TESTS}/test_stillness.py",
    ),
    Planted(
        "a joint whose readings stand still is taken to rest", f"{GATE}/stillness.py",
        "        if coasts:", "        if False:", f"{CORE_TESTS}/test_stillness.py",
    ),
    Planted(
        "the payload that a joint holds is taken for a hidden motion", f"{GATE}/stillness.py",
        "        if quiet and r.judged[i] == 0.0:", "        if False:", f"{CORE_TESTS}/test_stillness.py",
    ),
    Planted(
        "stamps that jump ahead are taken for a velocity sensor that lies", f"{GATE}/velocities/velocity_check.py",
        "        if dt > longest:", "        if False:",
        f"{CORE_TESTS}/test_velocity_check.py::test_stamps_that_jump_ahead_once_are_not_taken_for_a_sensor_that_lies",
    ),
    Planted(
        "states count as lost before a clock is seen to step back", f"{GATE}/arrivals.py",
        "since > 0.5 * self.longest", "since > self.longest",
        f"{CORE_TESTS}/test_arrivals.py::test_a_clock_that_steps_back_is_seen_before_states_count_as_lost",
    ),
    Planted(
        "the forecast before the first effort counts as a measurement", f"{GATE}/observed_dynamics.py",
        "self._filled, self._escapes, self._loaded = float(effort is None), False, False",
        "self._filled, self._escapes, self._loaded = 0.0, False, False",
        f"{CORE_TESTS}/test_observed_dynamics.py"
        "::test_bent_links_that_drives_let_go_push_the_joints_and_are_no_load",
    ),
    Planted(
        "an arm that others hold has a load", f"{GATE}/observed_dynamics.py",
        "if doubted or self._held:", "if doubted:",
        f"{FAULT_CASES}::test_an_arm_that_its_watchdog_held_meanwhile_is_not_taken_for_one_with_a_load",
    ),
    Planted(
        "a stop goes on from what late commands seem to do", f"{GATE}/commands.py",
        "late = seems_late or timing.too_late", "late = timing.too_late",
        f"{FAULT_CASES}"
        "::test_a_stop_whose_commands_seem_to_act_late_does_not_go_on_from_what_they_seemed_to_do",
    ),
    Planted(
        "a load looks like late commands", f"{GATE}/commands.py",
        "timing.response.seems_late and not law.observed.load.any()", "timing.response.seems_late",
        f"{CORE_TESTS}/test_unknown_load.py",
    ),
    Planted(
        "contact looks like late commands", f"{GATE}/response.py",
        "((in_time - delayed > HINT) & (none - delayed > HINT))", "(in_time - delayed > HINT)",
        f"{CORE_TESTS}/test_unknown_load.py",
    ),
    Planted(
        "efforts that others undo grow", f"{GATE}/gate.py",
        "given_up=machine.fallback", "given_up=False",
        f"{CORE_TESTS}/test_gate.py::test_while_others_hold_the_arm_the_effort_of_the_gate_does_not_grow",
    ),
    Planted(
        "a reset forgets what bore the arm", f"{GATE}/gate.py",
        "law.restart(self._trust.state, bears=True)  # others", "law.restart(self._trust.state)  # others",
        f"{FAULT_CASES}::test_after_a_reset_an_arm_with_a_payload_is_borne_or_given_away_again",
    ),
    Planted(
        "a joint that escapes after a reset is braked on", f"{GATE}/gate.py",
        "if effort and law.cautious and not machine.fallback:", "if False:",
        f"{FAULT_CASES}::test_after_a_reset_an_arm_with_a_payload_is_borne_or_given_away_again",
    ),
    Planted(
        "what others do with the arm lasts", f"{GATE}/observed_dynamics.py",
        "            seen.lasting[:] = lasting\n", "            pass\n",
        f"{CORE_TESTS}/test_observed_dynamics.py",
    ),
    Planted(
        "late states that are overtaken look like a clock that jumped", f"{GATE}/gate.py",
        "(age := self._timing.arrivals.age) > 0.5 * gap", "(age := 0.0) > gap",
        f"{CORE_TESTS}/test_gate.py::test_late_states_that_are_overtaken_are_not_called_a_clock_that_jumped",
    ),
    Planted(
        "an overdue set point is not replaced", f"{GATE}/commands.py",
        'if self.law.mode != "position" or before is None', "if True or before is None",
        f"{CORE_TESTS}/test_gate.py"
        "::test_a_position_drive_whose_references_are_lost_slows_down_at_the_limit_and_not_at_once",
    ),
    Planted(
        "a reference is overdue at every state", f"{GATE}/commands.py",
        "self.answered in (None, before.stamp) or self._is_recent:", "self.answered in (None, before.stamp):",
        f"{CORE_TESTS}/test_gate.py::test_states_that_come_oftener_than_references_do_not_quicken_set_points",
    ),
    Planted(
        "a position drive halts while states are missing", f"{GATE}/gate.py",
        'return mode != "velocity" and silence', 'return mode == "effort" and silence',
        f"{CORE_TESTS}/test_gate.py::test_a_position_drive_is_led_on_towards_rest_while_states_are_missing",
    ),
    Planted(
        "a late reference moves on from the set point that filled in for it", f"{GATE}/commands.py",
        "            self.law.take_back()\n", "            pass\n",
        f"{CORE_TESTS}/test_gate.py"
        "::test_a_reference_that_comes_after_the_next_state_takes_the_place_of_the_set_point_that_filled_in",
    ),
    Planted(
        "set points make up at once for the time without states", f"{GATE}/commands.py",
        'if not self._config.lockstep and (goes_on or law.mode == "effort"):', "if not self._config.lockstep:",
        f"{CORE_TESTS}/test_gate.py::test_set_points_do_not_make_up_for_the_time_in_which_no_state_came",
    ),
    Planted(
        "a base that the joints throw is not believed", f"{GATE}/belief.py",
        "if allowed and found[0] == BENT and self._reaction is not None:", "if False:",
        f"{CORE_TESTS}/test_belief.py::test_a_base_that_jumps_is_believed_if_the_joints_threw_it",
    ),
    Planted(
        "faults: a first command must not move the arm", "flexarm_tools/faults/source.py",
        "effort += np.abs(reference.effort - self._model.gravity_effort(state))", "pass",
        "test/tools/test_faults_judge.py::test_a_first_command_may_move_the_arm_as_its_law_does_by_then",
    ),
    Planted(
        "faults: the noise of a first command is that of the arm as it is told", "flexarm_tools/faults/source.py",
        "np.abs(self._tuned.blocks(state).H_m)", "np.abs(self._model.blocks(state).H_m)",
        "test/tools/test_faults_judge.py"
        "::test_a_law_tuned_for_a_heavier_arm_makes_more_of_the_noise_of_a_measurement",
    ),
    Planted(
        "velocities may be half of what they are", f"{GATE}/velocities/velocity_check.py",
        "SHARE = 0.3", "SHARE = 0.7", f"{CORE_TESTS}/test_velocity_check.py",
    ),
    Planted(
        "drives that step to each set point are not believed at a low rate", f"{GATE}/velocities/velocity_check.py",
        "STEPPED, LONG = 0.5, 0.02", "STEPPED, LONG = 0.2, 0.02", f"{CORE_TESTS}/test_velocity_check.py",
    ),
    Planted(
        "a small bias of a velocity adds up for ever", f"{GATE}/velocities/velocity_check.py",
        "kept, soon = np.exp(-dt / np.array(WINDOWS))", "kept, soon = np.ones(2)",
        f"{CORE_TESTS}/test_velocity_check.py",
    ),
    Planted(
        "motion of long ago hides a velocity that reads 0", f"{GATE}/velocities/velocity_check.py",
        "WINDOWS = (0.2, 0.04)", "WINDOWS = (0.2, 0.2)", f"{CORE_TESTS}/test_velocity_check.py",
    ),
    Planted(
        "an arm that contradicts itself is braked from what was believed before", f"{GATE}/prediction.py",
        "if self._state is None or measured.stamp > self._since:", "if self._state is None:",
        f"{CORE_TESTS}/test_sensor_trust.py",
    ),
    Planted(
        "all motors saturate with one", f"{GATE}/command_law.py",
        "held[np.argmax(beyond)] = True", "held |= beyond > 1.0", f"{CORE_TESTS}/test_command_law.py",
    ),
    Planted(
        "a correction for a load does not care whether the hand is lighter than told", f"{GATE}/load/tool_load.py",
        "if rigid and not (proven or likely or state.loaded[0]):", "if False:",
        f"{CORE_TESTS}/test_unknown_load.py",
    ),
    Planted(
        "what a joint does that hits something counts as an answer to efforts", f"{GATE}/observed_dynamics.py",
        "        if self._stopped_short(state, effort - gravity - seen.w, dt):\n", "        if False:\n",
        f"{CORE_TESTS}/test_observed_dynamics.py::"
        "test_joints_that_lose_their_speed_without_a_cause_say_nothing_of_what_efforts_do",
    ),
    Planted(
        "a load is believed whatever contradicts it", f"{GATE}/observed_dynamics.py",
        "return self._agreed >= BELIEVED", "return True",
        f"{CORE_TESTS}/test_observed_dynamics.py",
    ),
    Planted(
        "a load that is lost makes the next one unbelievable", f"{GATE}/observed_dynamics.py",
        "(since >= FILTER or self._refuted < REFUTED or not escapes)", "True",
        f"{FAULT_CASES}::test_an_arm_whose_noise_looks_like_efforts_in_vain_does_not_fall",
    ),
    Planted(
        "a load that is not believed is corrected without a bound", f"{GATE}/observed_dynamics.py",
        "if self._escapes or not self._believed else effort", "if self._escapes else effort",
        f"{CORE_TESTS}/test_observed_dynamics.py",
    ),
    Planted(
        "a correction for a load that is not believed may throw what has none", f"{GATE}/observed_dynamics.py",
        "least = self._load.least if self._believed else self._none", "least = self._load.least",
        f"{CORE_TESTS}/test_observed_dynamics.py",
    ),
    Planted(
        "what is not believed is not tried either", f"{GATE}/observed_dynamics.py",
        "effort += (self._told(state) + self._load.inertia) @ change",
        "effort += (self._told(state) + self.load) @ change", f"{CORE_TESTS}/test_observed_dynamics.py",
    ),
    Planted(
        "a light hand is there again once something contradicts it", f"{GATE}/observed_dynamics.py",
        "lacked=0.0 if self._believed else self._lacked", "lacked=0.0",
        f"{CORE_TESTS}/test_observed_dynamics.py",
    ),
    Planted(
        "a light hand is there again for a sample", f"{GATE}/load/tool_load.py",
        "        self._state.lacks[:], self.missing[:] = lacks, missing\n", "",
        f"{CORE_TESTS}/test_observed_dynamics.py",
    ),
    Planted(
        "what contradicts a load slowly adds up without end", f"{GATE}/observed_dynamics.py",
        "if contradiction > max(SURE, RATE * since):", "if contradiction > SURE and since < FILTER:",
        f"{CORE_TESTS}/test_observed_dynamics.py",
    ),
    Planted(
        "a joint that stands still at once is believed though it always had noise", f"{GATE}/belief.py",
        "(joint := self._still.stopped(state, chain)) >= 0", "False",
        f"{CORE_TESTS}/test_belief.py::"
        "test_a_fast_joint_that_reads_no_motion_at_once_and_never_changes_is_frozen_unless_it_is_known_to_be_quiet",
    ),
    Planted(
        "what was measured before an arm falls counts on", f"{GATE}/observed_dynamics.py",
        "if self._escapes and self.share > SHAKES:", "if False:",
        f"{CORE_TESTS}/test_observed_dynamics.py"
        "::test_while_an_arm_falls_under_steady_efforts_the_last_sample_counts_in_full_unless_it_is_in_doubt",
    ),
    Planted(
        "an effort that may not have acted yet seems to do nothing", f"{GATE}/observed_dynamics.py",
        "part /= part + unsure @ unsure + (NOISE / dt) ** 2", "part /= part + (NOISE / dt) ** 2",
        f"{CORE_TESTS}/test_observed_dynamics.py"
        "::test_a_change_of_efforts_that_may_not_have_acted_yet_is_not_taken_to_have_caused_the_motion",
    ),
    Planted(
        "a correction for a heavy load may throw a light one", f"{GATE}/observed_dynamics.py",
        "return effort - self._daring(state, change) if self._escapes or not self._believed else effort",
        "return effort",
        f"{CORE_TESTS}/test_unknown_load.py",
    ),
    Planted(
        "a correction for a load that may not be there may throw a light hand", f"{GATE}/observed_dynamics.py",
        "share = STEP if self._load.loaded and self._believed else UNLOADED * STEP", "share = STEP",
        f"{CORE_TESTS}/test_unknown_load.py",
    ),
    Planted(
        "a light load is hidden by the noise for a heavy one", f"{GATE}/load/tool_load.py",
        "if _explains(told, L, theta, state.rows, noise, doubt):", "if True:", f"{CORE_TESTS}/test_unknown_load.py",
    ),
    Planted(
        "noise looks like a lighter hand", f"{GATE}/load/tool_load.py",
        "slope, curvature = slope - state.shaken[0]", "slope, curvature = slope - 0.0",
        f"{CORE_TESTS}/test_tool_load.py",
    ),
    Planted(
        "commands that act late look like a load", f"{GATE}/load/tool_load.py",
        "LATE, JITTER = 1.0, 0.1", "LATE, JITTER = 1e-6, 0.1", f"{CORE_TESTS}/test_tool_load.py",
    ),
    Planted(
        "a wrong weight of the arm looks like a load", f"{GATE}/load/tool_load.py",
        "variance, steady = (FRACTION * given.weight[j]) ** 2", "variance, steady = 0.0",
        f"{CORE_TESTS}/test_tool_load.py",
    ),
    Planted(
        "a reversed motor is not looked for", f"{GATE}/gate.py",
        "joint = self._direction.find(", "joint = None and self._direction.find(",
        f"{CORE_TESTS}/test_effort_direction.py",
    ),
    Planted(
        "a stop on late states ends before they have shown it", f"{GATE}/state_machine.py",
        "return not 0.0 <= self._timing.now() - self._began < self._unseen", "return True",
        f"{CORE_TESTS}/test_gate.py::test_a_stop_on_late_states_ends_only_where_they_have_shown_it",
    ),
    Planted(
        "noise after a step of all efforts shows a reversed motor", f"{GATE}/effort_direction.py",
        "memory[ROW, j] < MAINLY * memory[ANSWERED, j] < 0.0", "memory[ANSWERED, j] < 0.0",
        f"{FAULT_CASES}::test_noise_after_a_step_of_all_efforts_is_no_reversed_motor",
    ),
    Planted(
        "at low rates one sample shows a reversed motor", f"{GATE}/effort_direction.py",
        "max(MEMORY, SAMPLES * dt)", "MEMORY", f"{CORE_TESTS}/test_effort_direction.py",
    ),
    Planted(
        "after the process was late, efforts are judged by when they were meant to act", f"{GATE}/gate.py",
        "            self._direction.pause()\n", "            pass\n", f"{CORE_TESTS}/test_effort_direction.py",
    ),
    Planted(
        "a load that is not believed moves joints although none escapes", f"{GATE}/observed_dynamics.py",
        "if not self._believed and self._rested > 0.0:", "if False:", f"{CORE_TESTS}/test_observed_dynamics.py",
    ),
    Planted(
        "what drives did by themselves is a light hand for ever", f"{GATE}/observed_dynamics.py",
        "if self._believed or self._rested == 0.0:", "if True:",
        f"{FAULT_CASES}::"
        "test_an_arm_that_its_drives_have_braked_is_not_taken_for_one_with_a_light_hand_when_they_follow_again",
    ),
    Planted(
        "an arm whose links bend is let go where efforts act in vain", f"{GATE}/gate.py",
        "if not law.braking.bends:", "if True:", f"{CORE_TESTS}/test_effort_direction.py",
    ),
    Planted(
        "a stop of links that bend takes an elastic base for one that gives way", f"{GATE}/command_law.py",
        "effort = blocks.H_m @ wanted + blocks.c_m", "effort = self._dynamics.effort(state, wanted)",
        f"{CORE_TESTS}/test_softness.py::test_a_stop_of_links_that_bend_over_an_elastic_base_ends_at_rest",
    ),
    Planted(
        "faults: a law may brake a joint hard on the ground, too", "flexarm_tools/faults/judge.py",
        "if self._base.size:\n                change", "if True:\n                change",
        "test/tools/test_faults_judge.py",
    ),
    Planted(
        "faults: where an arm goes while its gate gets no processor is the fault of the gate",
        "flexarm_tools/faults/judge.py", "        if halted:\n", "        if False:\n",
        "test/tools/test_faults_judge.py",
    ),
    Planted(
        "faults: arms whose links bend are drawn for nodes", "flexarm_tools/faults/node_campaign.py",
        "(*FLOATING, *BENDING)", "FLOATING", "test/tools/test_faults.py::"
        "test_arms_whose_base_or_links_bend_need_states_faster_than_nodes_get_them",
    ),
    Planted(
        "readings that seemed impossible and stay are trusted at once", f"{GATE}/sensor_trust.py",
        "if self.belief.changed and not self.probation.active:", "if False:",
        f"{CORE_TESTS}/test_sensor_trust.py::test_readings_that_seemed_impossible_and_stay_are_on_probation",
    ),
    Planted(
        "set points begin anew again and again", f"{GATE}/gate.py",
        "if self._commands.rebased:", "if False:",
        f"{CORE_TESTS}/test_gate.py::test_set_points_begin_anew_once_in_a_stop_where_an_encoder_counts_backward",
    ),
    Planted(
        "efforts in vain are given on", f"{GATE}/commands.py",
        "self._seen is not None and self._seen.stamp + 1e9 * silence < self._released", "False",
        f"{CORE_TESTS}/test_effort_direction.py",
    ),
    Planted(
        "efforts do not return while no joint states arrive", f"{GATE}/commands.py",
        "silence = 0.0 if self._config.lockstep else self._timing.silence", "silence = 0.0",
        f"{CORE_TESTS}/test_effort_direction.py",
    ),
    Planted(
        "efforts in vain are not noticed", f"{GATE}/effort_direction.py",
        "too_fast and power < CAUSED * needed and share.all()", "False",
        f"{CORE_TESTS}/test_effort_direction.py",
    ),
    Planted(
        "efforts that bear a load seem to act in vain", f"{GATE}/effort_direction.py",
        "power < CAUSED * needed and", "0.1 * power < CAUSED * needed and",
        f"{CORE_TESTS}/test_effort_direction.py",
    ),
    Planted(
        "swings that grow are not noticed", f"{GATE}/gate.py",
        "if swings is not None:", "if False:", "test/tools/test_faults_cases.py",
    ),
    Planted(
        "swings that do not grow are noticed", f"{GATE}/velocities/swings.py",
        "GROWS * memory[BEFORE, j] <", "0.5 * memory[BEFORE, j] <", f"{CORE_TESTS}/test_swings.py",
    ),
    Planted(
        "an arm whose efforts may act falls", f"{GATE}/gate.py",
        "bears=not self._direction.surely", "bears=False", "test/tools/test_faults_cases.py",
    ),
    Planted(
        "noise proves that efforts act in vain", f"{GATE}/effort_direction.py",
        "needed - max(usual, 0.0)", "needed", f"{CORE_TESTS}/test_effort_direction.py",
    ),
    Planted(
        "efforts that act late count as in vain", f"{GATE}/effort_direction.py",
        "max(power, later) < CAUSED", "power < CAUSED", f"{CORE_TESTS}/test_effort_direction.py",
    ),
    Planted(
        "an arm without a fallback is released", f"{GATE}/gate.py",
        "if self._direction.in_vain and self.config.fallback and not timing.busy:", "if self._direction.in_vain:",
        f"{CORE_TESTS}/test_effort_direction.py",
    ),
    Planted(
        "a reversed joint goes on getting efforts", f"{GATE}/effort_direction.py",
        "share[found] = 0.0", "share[found] = 1.0", f"{CORE_TESTS}/test_effort_direction.py",
    ),
    Planted(
        "efforts that act a sample late count as reversed", f"{GATE}/effort_direction.py",
        "power - 2.0 * most < LATE * later", "power - 2.0 * most < 0.0", f"{CORE_TESTS}/test_effort_direction.py",
    ),
    Planted(
        "a reset gives efforts to a reversed joint again", f"{GATE}/gate.py",
        "if self._direction.reversed:", "if False:", f"{CORE_TESTS}/test_effort_direction.py",
    ),
    Planted(
        "the other joints are braked as if a reversed one obeyed", f"{GATE}/commands.py",
        "suspected > 0.0 or not self.share.all()", "suspected > 0.0", f"{CORE_TESTS}/test_effort_direction.py",
    ),
    Planted(
        "a joint that others carry counts as reversed", f"{GATE}/effort_direction.py",
        "d * x < 0.0 and d * torque < 0.0", "d * x < 0.0",
        f"{CORE_TESTS}/test_effort_direction.py",
    ),
    Planted(
        "the others brake a reversed joint", f"{GATE}/command_law.py",
        "wanted = np.ceil(self.share) * self.braking", "wanted = self.braking",
        f"{FAULT_CASES}::test_a_joint_whose_motor_is_reversed_gets_no_effort_from_the_braking_of_the_others",
    ),
    Planted(
        "full effort in vain is not tried out", f"{GATE}/effort_direction.py",
        "share[j] = TRIED[0] if tries == PRESSED else 1.0", "share[j] = 1.0",
        f"{CORE_TESTS}/test_effort_direction.py",
    ),
    Planted(
        "a velocity of a wrong scale counts as late", f"{GATE}/velocities/velocity_delay.py",
        "late = (r.xy[i] * r.zz[i] - r.zy[i] * r.xz[i]) / det", "late = r.xy[i] / r.xx[i]",
        f"{CORE_TESTS}/test_velocity_delay.py",
    ),
    Planted(
        "late velocities are found and used", f"{GATE}/velocities/velocity_delay.py",
        "return replace(state, velocity=(state.position - position) / time)", "return state",
        f"{CORE_TESTS}/test_velocity_delay.py",
    ),
    Planted(
        "the arm is braked from the velocity that lies", f"{GATE}/velocities/velocity_check.py",
        "np.where(doubted, rate, state.velocity)", "state.velocity",
        f"{CORE_TESTS}/test_velocity_check.py",
    ),
    Planted(
        "a sensor that lied is trusted before its joint has moved", f"{GATE}/probation.py",
        "missed = ~trusted & (np.abs", "missed = trusted & (np.abs", f"{CORE_TESTS}/test_probation.py",
    ),
    Planted(
        "after a failed reset an arm is borne where its readings have jumped to", f"{GATE}/sensor_trust.py",
        "position=self.state.position - self._jumped)", "position=self.state.position)",
        f"{FAULT_CASES}::test_after_a_reset_with_joints_still_swapped_the_arm_is_borne_where_it_was_before"
        "_the_readings_jumped",
    ),
    Planted(
        "a payload is taken for a sensor that lies", f"{GATE}/probation.py",
        "            self._at_rest = asked.copy()", "            self._at_rest = 0.0 * asked",
        f"{CORE_TESTS}/test_probation.py",
    ),
    Planted(
        "no joint is ever trusted again", f"{GATE}/probation.py",
        "self.active = not trusted.all()", "self.active = True", f"{CORE_TESTS}/test_probation.py",
    ),
    Planted(
        "a position that jumped and stays is believed", f"{GATE}/belief.py",
        "            if joint >= 0:\n                jump =", "            if False:\n                jump =",
        "encoder_jumps",
    ),
    Planted(
        "an encoder that begins to count backward is believed", f"{GATE}/belief.py",
        "        if at_once and same and not shown and abs(before[i] - earlier[i]) <= 0.25 * jump:",
        "        if False:", "encoder_backward",
    ),
    Planted(
        "one encoder that hangs is taken for a driver that repeats itself", f"{GATE}/belief.py",
        "        if partial:", "        if False:", f"{CORE_TESTS}/test_belief.py",
    ),
    Planted(
        "a base may be anywhere from one sample to the next", f"{GATE}/belief.py",
        "(BENT, bent, same) if bent >= 0 else", "(BENT, bent, same) if False else", f"{CORE_TESTS}/test_belief.py",
    ),
    Planted(
        "the first state is believed alone", f"{GATE}/belief.py",
        "first=1 if lockstep else CONFIRMED", "first=1", f"{CORE_TESTS}/test_garbage.py",
    ),
    Planted(
        "zeros of a driver that starts are believed", f"{GATE}/belief.py",
        "and lasts < BLANK and", "and False and", f"{CORE_TESTS}/test_garbage.py",
    ),
    Planted(
        "the count of turns follows every reading", "flexarm_core/turns.py",
        "self._place + np.clip(way, -most, most), stamp", "found, stamp", "test/core/test_turns.py",
    ),
    Planted(
        "references in another turn are followed the long way", "flexarm_core/turns.py",
        "        return reference if moved is position else replace(reference, position=moved)",
        "        return reference", f"{CORE_TESTS}/test_endless_joints.py",
    ),
    # Time
    Planted(
        "a suspended stop ends while the arm moves", f"{GATE}/lateness.py",
        "if not (rests and on_time)", "if not on_time", f"{CORE_TESTS}/test_lateness.py",
    ),
    Planted(
        "a suspended stop ends while the machine is busy", f"{GATE}/lateness.py",
        " or self.within(now, self._quiet) >= self._bearable", "", f"{CORE_TESTS}/test_lateness.py",
    ),
    Planted(
        "the watchdog does not say how late it is", f"{NODES}/hardware_gate/watchdog.py",
        "self._look(time.monotonic() - due)", "self._look(0.0)",
        f"{NODE_TESTS}/test_watchdog.py::test_it_says_by_how_much_it_is_late_and_looks_no_more_once_it_has_ended",
    ),
    Planted(
        "the stop of an arm that bends is denied what a limit needs", f"{GATE}/softness.py",
        "np.maximum(share * np.minimum(most, self.acceleration), needed)",
        "share * np.minimum(most, self.acceleration)", f"{CORE_TESTS}/test_softness.py",
    ),
    Planted(
        "a stop is expected to be over before its deceleration has risen", f"{GATE}/softness.py",
        "np.abs(speed) / slow + self.rise + 2.0", "np.abs(speed) / slow + 2.0", f"{CORE_TESTS}/test_softness.py",
    ),
    Planted(
        "links that bend approach a position limit as if they did not", f"{GATE}/command_law.py",
        "limits = replace(limits, deceleration=soft.acceleration)", "pass",
        f"{CORE_TESTS}/test_command_law.py",
    ),
    Planted(
        "a joint is held where its deceleration cannot stop it yet", f"{GATE}/braking.py",
        "<= np.minimum(most, self._most) / w", "<= self._most / w", f"{CORE_TESTS}/test_braking.py",
    ),
    Planted(
        "a joint is held so stiffly that its link swings on", f"{GATE}/softness.py",
        "np.minimum(least, SOFT * 2.0 * np.pi / links)", "least",
        f"{CORE_TESTS}/test_softness.py::test_the_servo_of_a_link_is_the_one_that_damps_it_fastest",
    ),
    Planted(
        "the stop of links that bend integrates measured accelerations", f"{GATE}/command_law.py",
        "if predicted or late or self.braking.bends:", "if predicted or late:",
        f"{CORE_TESTS}/test_softness.py::test_a_stop_damps_links_that_bend",
    ),
    Planted(
        "a late machine keeps the drives of an arm that nobody can predict", f"{GATE}/gate.py",
        "fallback = machine.fallback or lost or missed > longest", "fallback = machine.fallback or missed > longest",
        f"{FAULT_CASES}::test_an_arm_whose_motion_cannot_be_predicted_is_given_away_while_the_machine_is_late",
    ),
    Planted(
        "an unusable reference that comes after its state was answered gets no effort of the stop", f"{GATE}/gate.py",
        "return self._or_again(command) if stopped else command", "return command",
        f"{CORE_TESTS}/test_gate.py::test_an_effort_that_answered_a_state_in_a_stop_also_answers_its_reference",
    ),
    Planted(
        "a boom is held more softly than it weighs", f"{GATE}/softness.py",
        "    return stiffness\n", "    return 0.0 * stiffness\n", f"{CORE_TESTS}/test_softness.py",
    ),
    Planted(
        "an arm whose links bend is braked by its rigid model where nothing is measured", f"{GATE}/braking.py",
        "self._soft is not None and self._soft.fading > 0.0", "False", f"{CORE_TESTS}/test_softness.py",
    ),
    # Who may do what
    Planted(
        "links in a name are followed out of the folder", "flexarm_core/file_folder.py",
        "os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder",
        "os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder", "test/core/test_file_folder.py",
    ),
    Planted(
        "a pipe that takes the place of a file is waited for", "flexarm_core/regular_file.py",
        "os.O_RDONLY | os.O_NONBLOCK |", "os.O_RDONLY |", "test/core/test_file_folder.py",
    ),
    Planted(
        "what takes the place of a file is read", "flexarm_core/regular_file.py",
        "        check(os.fstat(opened))", "        pass", "test/core/test_file_folder.py",
    ),
    Planted(
        "a URI leads out of its package", "flexarm_core/uri.py",
        '        if ".." in path.parts:', "        if False:",
        "test/core/flexible_dynamics/test_modal_data.py::test_uris_of_packages_files_and_paths",
    ),
    Planted(
        "a gate that gives up for a second writer does not ask for the fallback", f"{GATE}/gate.py",
        "self._machine.trip(reason, fallback=True)", "self._machine.trip(reason)",
        f"{CORE_TESTS}/test_interruption.py::test_who_shares_the_drives_gives_them_up_until_it_is_told_to_go_on",
    ),
    Planted(
        "a trip is reset while the second writer is there", f"{NODES}/hardware_gate/output.py",
        "        if self._writers:\n            response", "        if False:\n            response",
        f"{NODE_TESTS}/test_hardware_gate.py::test_a_second_writer_trips_the_gate_until_it_has_gone_and_somebody_has_looked",
    ),
    Planted(
        "two sources lead the arm in turns", f"{NODES}/hardware_gate/output.py",
        "            self._gate.contest(self._leaders)", "            pass",
        f"{NODE_TESTS}/test_hardware_gate.py::test_while_two_lead_the_arm_it_is_held_and_then_it_goes_on_by_itself",
    ),
    Planted(
        "requests of a service are not bounded", f"{NODES}/node/slow_service.py",
        "        bound_service(self._service)\n", "",
        f"{NODE_TESTS}/test_ik_redundancy_solver.py::test_solve_ik_finds_joints_of_a_pose_and_says_why_not",
    ),
    Planted(
        "goals of an action are not bounded", f"{NODES}/node/goal_server.py",
        "self._action_type, self._too_large = bound_action(action, set_aside), False",
        "self._action_type, self._too_large = action, False", f"{NODE_TESTS}/test_follow_cartesian_path.py",
    ),
    Planted(
        "only the first of nested lists is counted", f"{NODES}/node/bounded_requests.py",
        "    for item in items:\n        _count(item, kind, left)",
        "    for item in items[:1]:\n        _count(item, kind, left)",
        f"{NODE_TESTS}/test_bounded_requests.py",
    ),
    Planted(
        "the goal tolerance of a trajectory is ignored", "flexarm_core/joint_trajectory/follower.py",
        "said = violated(goal.tolerances.goal, progress.error, self.joint_names)", 'said = ""',
        "test/core/joint_trajectory/test_follower.py::test_default_tolerances_hold_and_a_goal_changes_its_own_only",
    ),
    Planted(
        "a trajectory that takes over jumps", "flexarm_core/joint_trajectory/motion.py",
        "if any(np.abs(one).max() > 1e-12 for one in away[:2]):", "if False:",
        "test/core/joint_trajectory/test_follower.py::test_preemption_and_cancellation_do_not_jump_at_any_moment",
    ),
    Planted(
        "a canceled trajectory does not brake", "flexarm_core/joint_trajectory/follower.py",
        "stop = Stopped(stamp, motion, hardness * self.limits.acceleration)", "stop = Held(motion[0])",
        "test/core/joint_trajectory/test_follower.py::test_a_canceled_motion_brakes_and_rests_before_the_goal_ends",
    ),
    Planted(
        "the way to a trajectory is not compared with the limits", "flexarm_core/joint_trajectory/follower.py",
        "            self.rules.check_added(*Piece(now, course, before, self.limits).added())", "            pass",
        "test/core/joint_trajectory/test_follower.py::"
        "test_whatever_chunks_come_the_reference_stays_within_positions_and_speeds",
    ),
    Planted(
        "a load is sought in the motion while commands may be late", f"{GATE}/command_law.py",
        "doubted=self.cautious, ", "",
        f"{FAULT_CASES}::test_after_a_reset_while_commands_are_still_late_no_load_is_sought_in_the_motion",
    ),
    # Chains of frames on /tf
    Planted(
        "a chain of frames is read beyond what its slowest part tells", f"{NODES}/node/input/frame_tree.py",
        "min(part.told[-1].stamp for part in parts)", "max(part.told[-1].stamp for part in parts)", FRAMES,
    ),
    Planted(
        "orientations between two transforms take the long turn", f"{NODES}/node/input/frame_tree.py",
        "first * a + sign * second * b for", "first * a + second * b for", FRAMES,
    ),
    Planted(
        "a frame keeps the parent that was told first", f"{NODES}/node/input/frame_tree.py",
        "part is None or (part.parent, part.fixed) != (parent, fixed):", "part is None:",
        f"{NODE_TESTS}/test_wrench_frames.py::test_a_frame_has_the_parent_that_was_told_last_and_in_a_ring_none",
    ),
    Planted(
        "what is told of a frame is not turned into the axes of the other", f"{NODES}/node/input/frame_tree.py",
        "rotation @ (frame[:3, 3] - home[:3, 3])", "frame[:3, 3] - home[:3, 3]", FRAMES,
    ),
    Planted(
        "transforms that overtake each other are kept in the order of their arrival",
        f"{NODES}/node/input/frame_tree.py",
        "if not told or placed.stamp > told[-1].stamp:", "if True:", FRAMES,
    ),
    Planted(
        "the frame of a wrench is sought over moving parts first", f"{NODES}/node/input/frame_tree.py",
        "for moving in (False, True):", "for moving in (True, False):", FRAMES,
    ),
    # Rates of the base that are late, as flexible states tell
    Planted(
        "a base that is measured does not tell how late its rates are", "flexarm_core/pipeline/base_odometry_stage.py",
        "none, none, none, rate_delay=self.base_delay", "none, none, none, rate_delay=0.0", f"{ODOMETRY}::{REFUSES}",
    ),
    Planted(
        "the delay that flexible states tell is not counted in the gains", f"{NODES}/node/input/synchronizer.py",
        'self._late = counted(given["flexible"].rate_delay, self._late)', "pass", f"{ODOMETRY}::{REFUSES}",
    ),
    Planted(
        "the age of poses that a stage differentiates is not counted in the gains of the next",
        f"{NODES}/node/input/synchronizer.py",
        "max((self._late, *(stage.base_delay for stage in self._stages)))", "self._late",
        f"{ODOMETRY}::test_a_control_loop_counts_the_age_of_differentiated_poses_in_the_gains_of_its_law",
    ),
    Planted(
        "any delay of a flexible state is taken", f"{NODES}/messages/flexible.py",
        "if not 0.0 <= message.rate_delay <= LONGEST_DELAY:", "if False:",
        f"{ODOMETRY}::test_a_delay_that_a_message_cannot_mean_is_refused",
    ),
    # Joints that follow others, and links that bend
    Planted(
        "what follows an elastic drive follows its motor", f"{BENDING}/coupled_hinges.py",
        "values[one] + tree.ratio[f, 1] * values[other]", "values[one]", f"{BENDING_TESTS}/test_coupled_readings.py",
    ),
    Planted(
        "the load of a follower does not bend the drive that it follows", f"{BENDING}/coupled_hinges.py",
        "        forces[tree.leaders[f, 1]] += tree.ratio[f, 1] * force\n", "",
        f"{BENDING_TESTS}/test_coupled_hinges.py"
        "::test_what_follows_an_elastic_drive_follows_its_link_and_not_its_motor",
    ),
    Planted(
        "the damping of an implicit step is forgotten where joints follow others", f"{BENDING}/coupled_hinges.py",
        "M[h, h] += half * (tree.damping[h] + half * tree.stiffness[h])", "M[h, h] += 0.0 * half",
        f"{BENDING_TESTS}/test_coupled_hinges.py"
        "::test_articulated_inertias_are_pivots_of_the_elimination_from_tip_to_base",
    ),
    Planted(
        "derivatives of readings leave followers where they are", f"{BENDING}/estimation/motion_readings.py",
        "        state[place] += DIFFERENCE\n        follow(tree, state)\n", "        state[place] += DIFFERENCE\n",
        f"{BENDING_TESTS}/test_coupled_readings.py",
    ),
    Planted(
        "a correction leaves followers where they are", f"{BENDING}/estimation/filter.py",
        "    follow(tree, kept.x)\n    follow(tree, kept.v)\n", "", f"{BENDING_TESTS}/test_coupled_readings.py",
    ),
    Planted(
        "rotors have no part in the reduced mass matrix", f"{BENDING}/composite.py",
        "M[h, h] = s + tree.armature[h]", "M[h, h] = s", f"{BENDING_TESTS}/test_coupled_hinges.py"
        "::test_rigid_arms_have_the_equations_of_pinocchio",
    ),
    Planted(
        "moments do not bend the link that carries them", f"{BENDING}/propagation.py",
        "modal[m] += s + Br[i, 0, m] * n0 + Br[i, 1, m] * n1 + Br[i, 2, m] * n2", "modal[m] += s",
        f"{BENDING_TESTS}/test_coupled_hinges.py"
        "::test_flexible_arms_move_as_with_the_force_of_a_constraint",
    ),
    Planted(
        "a link that bends does not turn what it carries", f"{BENDING}/propagation.py",
        "r0, r1, r2 = r0 + Br[i, 0, m] * s, r1 + Br[i, 1, m] * s, r2 + Br[i, 2, m] * s", "pass",
        f"{BENDING_TESTS}/test_coupled_hinges.py"
        "::test_flexible_arms_move_as_with_the_force_of_a_constraint",
    ),
    # Joint trajectories
    Planted(
        "a chunk that begins while the joints move begins at rest", "flexarm_core/joint_trajectory/motion.py",
        "(now != first or moves)", "now < first",
        f"{TRAJECTORIES}::test_chunks_that_agree_are_followed_however_they_begin_and_come",
    ),
    Planted(
        "a difference fades in the shortest time, whatever its size", "flexarm_core/joint_trajectory/motion.py",
        "if smooth.is_within(fastest + np.abs(velocity), most):", "if True:",
        "test/core/joint_trajectory/test_fading.py",
    ),
    Planted(
        "a trajectory begins when it comes, whatever its stamp", "flexarm_core/joint_trajectory/follower.py",
        "        start = goal.start or stamp\n", "        start = stamp\n", TRAJECTORIES,
    ),
    Planted(
        "path tolerances are looked at when a trajectory begins, and no more",
        "flexarm_core/joint_trajectory/follower.py",
        "if said := violated(goal.tolerances.path, progress.error, self.joint_names):", 'if said := "":', TRAJECTORIES,
    ),
    Planted(
        "a goal is waited for for ever, whatever its time tolerance", "flexarm_core/joint_trajectory/follower.py",
        "elif 0.0 < goal.tolerances.goal_time < late:", "elif False:", TRAJECTORIES,
    ),
    Planted(
        "a goal goes on behind a gap of joint states", "flexarm_core/joint_trajectory/follower.py",
        "self._motion is None or gap > self.config.state_timeout:", "self._motion is None:", TRAJECTORIES,
    ),
    Planted(
        "a shaped trajectory is judged before its shaper has ended", "flexarm_core/joint_trajectory/follower.py",
        "late = (stamp - piece.end - motion.delay) * 1e-9", "late = (stamp - piece.end) * 1e-9", TRAJECTORIES,
    ),
    Planted(
        "endless joints turn back by whole turns to where a trajectory begins",
        "flexarm_core/joint_trajectory/follower.py",
        "first = self.turns.near(spline.position[0], held)", "first = spline.position[0]", TRAJECTORIES,
    ),
    # What drives add by themselves
    Planted(
        "the gate commands what the drives add", f"{GATE}/commands.py",
        "if self.drives.adds and state is not None:", "if False:", "test/sim/test_drive_terms.py",
    ),
    Planted(
        "what drives add is not read from the robot description", "flexarm_core/robot/drive_terms.py",
        "if named else model.description.drive_adds)", "if named else ())", "test/sim/test_drive_terms.py",
    ),
    Planted(
        "drives add all friction that is compensated", "flexarm_core/robot/drive_terms.py",
        'viscous + np.clip(finite("friction", friction, model.n), -self._friction, self._friction)',
        'viscous + finite("friction", friction, model.n)', "test/sim/test_drive_terms.py",
    ),
    Planted(
        "Coriolis compensation has the weight in it, too", "flexarm_core/robot/drive_terms.py",
        "np.zeros(model.n)) - viscous - gravity", "np.zeros(model.n)) - viscous", "test/sim/test_drive_terms.py",
    ),
    Planted(
        "the parameter drive_adds of the gate does nothing", f"{NODES}/hardware_gate/parameters.py",
        'drive_terms(model, values["drive_adds"])', "drive_terms(model, [])",
        f"{NODE_TESTS}/test_hardware_gate.py::test_drives_that_add_gravity_are_not_commanded_it",
    ),
)  # fmt: skip
