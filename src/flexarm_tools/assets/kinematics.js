// Motion of a run and forward kinematics of its robot. Transforms are 12 numbers: three rows of rotation and translation.

/** Frames of 16-bit channels: actuated joints, elastic joints, x y z of the reference, tracking error. */
class Motion {
  constructor(data) {
    this.data = data;
    this.channels = data.low.length;
    const bytes = Uint8Array.from(atob(data.frames), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    this.codes = new Uint16Array(bytes.length / 2);
    for (let i = 0; i < this.codes.length; i++) this.codes[i] = view.getUint16(2 * i, true);
    this.count = this.codes.length / this.channels;
    this.movable = data.joints + data.elastic;
  }

  /** Value of a channel in a frame; NaN where it is not known. */
  value(frame, channel) {
    const code = this.codes[frame * this.channels + channel];
    return code === 65535 ? NaN : this.data.low[channel] + this.data.step[channel] * code;
  }

  /** Number of the frame at a time, with a fraction. */
  frameAt(time) {
    const { begin, end } = this.data;
    const share = Math.min(Math.max((time - begin) / (end - begin), 0), 1);
    return share * (this.count - 1);
  }

  /** Values of all channels at a time, interpolated. */
  at(time) {
    const place = this.frameAt(time);
    const left = Math.floor(place);
    const right = Math.min(left + 1, this.count - 1);
    const values = [];
    for (let i = 0; i < this.channels; i++) {
      const a = this.value(left, i);
      const b = this.value(right, i);
      const between = a + (place - left) * (b - a);
      values.push(Number.isFinite(between) ? between : Number.isFinite(a) ? a : b);
    }
    return values;
  }

  /** Deflection of the base as [value, unit] by unit: signed where it has one such direction, else its size. */
  deflection(values) {
    const elastic = values.slice(this.data.joints, this.movable);
    return [...new Set(this.data.units)].map((unit) => {
      const those = elastic.filter((_, i) => this.data.units[i] === unit);
      return [those.length === 1 ? those[0] : Math.hypot(...those), unit];
    });
  }

  /** Largest deflection in each unit, and largest error: what the digits of readouts are chosen by. */
  get peaks() {
    if (!this.known) {
      const frames = Array.from({ length: this.count }, (_, frame) => Array.from({ length: this.channels }, (_, i) => this.value(frame, i)));
      const largest = (values) => values.filter(Number.isFinite).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      const units = [...new Set(this.data.units)];
      this.known = {
        deflection: units.map((_, i) => largest(frames.map((values) => this.deflection(values)[i][0]))),
        error: largest(frames.map((values) => this.error(values))),
      };
    }
    return this.known;
  }

  reference(values) {
    return values.slice(this.movable, this.movable + 3);
  }

  error(values) {
    return values[this.movable + 3];
  }
}

function compose(a, b) {
  const out = new Array(12);
  for (let row = 0; row < 12; row += 4) {
    for (let column = 0; column < 4; column++) {
      out[row + column] = a[row] * b[column] + a[row + 1] * b[4 + column] + a[row + 2] * b[8 + column];
    }
    out[row + 3] += a[row + 3];
  }
  return out;
}

function transformPoint(t, [x, y, z]) {
  return [
    t[0] * x + t[1] * y + t[2] * z + t[3],
    t[4] * x + t[5] * y + t[6] * z + t[7],
    t[8] * x + t[9] * y + t[10] * z + t[11],
  ];
}

function rotateVector(t, [x, y, z]) {
  return [t[0] * x + t[1] * y + t[2] * z, t[4] * x + t[5] * y + t[6] * z, t[8] * x + t[9] * y + t[10] * z];
}

/** A point in the frame of a pose. */
function inFrame(t, [x, y, z]) {
  const [dx, dy, dz] = [x - t[3], y - t[7], z - t[11]];
  return [t[0] * dx + t[4] * dy + t[8] * dz, t[1] * dx + t[5] * dy + t[9] * dz, t[2] * dx + t[6] * dy + t[10] * dz];
}

/** Transform of a joint: translation along its axis, or rotation about it (Rodrigues). */
function jointMotion(joint, position) {
  const [x, y, z] = joint.axis;
  if (joint.slides) return [1, 0, 0, x * position, 0, 1, 0, y * position, 0, 0, 1, z * position];
  const s = Math.sin(position);
  const v = 1 - Math.cos(position);
  const c = 1 - v;
  return [
    c + v * x * x, v * x * y - s * z, v * x * z + s * y, 0,
    v * x * y + s * z, c + v * y * y, v * y * z - s * x, 0,
    v * x * z - s * y, v * y * z + s * x, c + v * z * z, 0,
  ];
}

const IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0];

/** Solution of a symmetric system of three equations (Cramer's rule); nothing where it is singular. */
function solve3(a, b) {
  const minor = (i, j) => a[(i + 1) % 3][(j + 1) % 3] * a[(i + 2) % 3][(j + 2) % 3] - a[(i + 1) % 3][(j + 2) % 3] * a[(i + 2) % 3][(j + 1) % 3];
  const determinant = a[0][0] * minor(0, 0) + a[0][1] * minor(0, 1) + a[0][2] * minor(0, 2);
  if (!determinant) return [0, 0, 0];
  return [0, 1, 2].map((i) => (minor(0, i) * b[0] + minor(1, i) * b[1] + minor(2, i) * b[2]) / determinant);
}

class Robot {
  constructor(data) {
    this.data = data;
    this.carried = new Array(data.links).fill("ground"); // by nothing that moves, by the base, or by the arm
    for (const joint of data.joints) {
      const inherited = this.carried[joint.parent];
      const actuated = joint.variable >= 0 && !joint.elastic;
      this.carried[joint.child] = actuated ? "arm" : inherited === "ground" && joint.elastic ? "base" : inherited;
    }
  }

  /** Pose of every link in the root link; elastic joints are drawn `exaggeration` times as far out. */
  poses(values, exaggeration) {
    const poses = new Array(this.data.links);
    poses[this.data.root] = IDENTITY;
    for (const joint of this.data.joints) {
      const value = joint.variable < 0 ? 0 : values[joint.variable] * joint.ratio * (joint.elastic ? exaggeration : 1);
      poses[joint.child] = compose(compose(poses[joint.parent], joint.origin), jointMotion(joint, value));
    }
    return poses;
  }

  /** The same with the tool where it truly is: joints give way by the least that makes up for the exaggeration. */
  posesWithToolInPlace(values, exaggeration) {
    const place = this.tool(this.poses(values, 1));
    const bent = values.slice();
    const arm = [...new Set(this.data.joints.filter((joint) => joint.variable >= 0 && !joint.elastic).map((joint) => joint.variable))];
    for (let round = 0; round < 6 && exaggeration !== 1; round++) {
      const now = this.tool(this.poses(bent, exaggeration));
      const columns = arm.map((variable) => {
        const moved = bent.slice();
        moved[variable] += 1e-5;
        return this.tool(this.poses(moved, exaggeration)).map((component, i) => (component - now[i]) / 1e-5);
      });
      const square = [0, 1, 2].map((i) => [0, 1, 2].map((j) => columns.reduce((sum, c) => sum + c[i] * c[j], i === j ? 1e-4 : 0)));
      const force = solve3(square, place.map((component, i) => component - now[i]));
      arm.forEach((variable, k) => (bent[variable] += columns[k].reduce((sum, component, i) => sum + component * force[i], 0)));
    }
    return this.poses(bent, exaggeration);
  }

  /** Place of the tool. */
  tool(poses) {
    const pose = poses[this.data.tool];
    return [pose[3], pose[7], pose[11]];
  }
}
