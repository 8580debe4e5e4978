// Camera, faces of shapes, and the order in which faces hide each other.

const LIGHT = [-0.34, 0.5, 0.8];

class Camera {
  constructor(view) {
    this.view = view;
    this.reset();
  }

  reset() {
    this.aim(this.view.azimuth, this.view.elevation);
  }

  aim(azimuth, elevation) {
    this.azimuth = azimuth;
    this.elevation = Math.min(Math.max(elevation, -Math.PI / 2), Math.PI / 2);
    const [ca, sa] = [Math.cos(azimuth), Math.sin(azimuth)];
    const [ce, se] = [Math.cos(this.elevation), Math.sin(this.elevation)];
    this.axes = [[ca, sa, 0], [-sa * se, ca * se, ce], [sa * ce, -ca * ce, se]];
  }

  /** Components of a vector to the right, upwards and towards the eye. */
  turn(v) {
    return this.axes.map((axis) => axis[0] * v[0] + axis[1] * v[1] + axis[2] * v[2]);
  }
}

/** Faces of a shape as lists of points in its own frame, each with its normal. */
function shapeFaces(shape) {
  if (shape.kind === "box") {
    const [x, y, z] = shape.size.map((edge) => edge / 2);
    const corner = (a, b, c) => [a * x, b * y, c * z];
    return [[1, 0, 0], [0, 1, 0], [0, 0, 1]].flatMap((axis, i) => [1, -1].map((side) => {
      const around = [[1, 1], [-1, 1], [-1, -1], [1, -1]].map(([p, q]) => {
        const signs = [0, 0, 0];
        signs[i] = side;
        signs[(i + 1) % 3] = p;
        signs[(i + 2) % 3] = q;
        return corner(...signs);
      });
      return { points: around, normal: axis.map((component) => component * side) };
    }));
  }
  const [radius, length] = shape.size;
  const rim = Array.from({ length: 28 }, (_, i) => [Math.cos((i * Math.PI) / 14), Math.sin((i * Math.PI) / 14)]);
  const ring = (z) => rim.map(([c, s]) => [radius * c, radius * s, z]);
  const [top, bottom] = [ring(length / 2), ring(-length / 2)];
  const sides = rim.map(([c, s], i) => {
    const next = (i + 1) % rim.length;
    return { points: [top[i], top[next], bottom[next], bottom[i]], normal: [c, s, 0], smooth: true };
  });
  return [{ points: top, normal: [0, 0, 1] }, { points: bottom, normal: [0, 0, -1] }, ...sides];
}

/**
 * Faces from far to near: by their middles, except where one plainly lies behind the plane of another. Visible faces of
 * one shape never hide each other.
 */
function paintOrder(faces) {
  faces.sort((a, b) => a.depth - b.depth);
  const behind = faces.map(() => []);
  for (let i = 0; i < faces.length; i++) {
    for (let j = i + 1; j < faces.length; j++) {
      if (faces[i].shape === faces[j].shape || !boxesOverlap(faces[i].box, faces[j].box)) continue;
      if (hides(faces[i], faces[j])) behind[i].push(j);
      else if (hides(faces[j], faces[i])) behind[j].push(i);
    }
  }
  const order = [];
  const state = new Uint8Array(faces.length);
  const visit = (i) => {
    if (state[i]) return; // already painted, or part of a circle of faces, which has no right order
    state[i] = 1;
    behind[i].forEach(visit);
    order.push(faces[i]);
  };
  faces.forEach((_, i) => visit(i));
  return order;
}

function boxesOverlap(a, b) {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}

/** Whether face a certainly lies in front of face b: all of a before b's plane, or all of b behind a's. */
function hides(a, b) {
  const before = distances(a.points, b);
  if (before.every((d) => d > -0.3) && before.some((d) => d > 0.3)) return true;
  const after = distances(b.points, a);
  return after.every((d) => d < 0.3) && after.some((d) => d < -0.3);
}

/** Distances of points from a face's plane towards the eye [pixel]. */
function distances(points, { points: [origin], normal }) {
  return points.map((p) => normal[0] * (p[0] - origin[0]) - normal[1] * (p[1] - origin[1]) + normal[2] * (p[2] - origin[2]));
}

/** Give a canvas the resolution of the screen; the answer is its cleared context in CSS pixels. */
function fitCanvas(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  return context;
}

function polygon(context, points) {
  points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
}

function dot(context, [x, y], radius, fill, stroke) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  if (fill) {
    context.fillStyle = fill;
    context.fill();
  }
  context.strokeStyle = stroke;
  context.lineWidth = 1.5;
  context.stroke();
}

const shade = (color, light) => `rgb(${color.map((channel) => Math.round(Math.min(255, channel * light))).join(" ")})`;
const along = (point, axis, length) => point.map((component, i) => component + length * axis[i]);
const mix = (a, b, share) => a.map((component, i) => component + share * (b[i] - component));
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

function normalize(v) {
  const length = Math.hypot(...v);
  return length > 1e-9 ? v.map((component) => component / length) : [0, 0, 0];
}

/** The next smaller of 1, 2, 5 times a power of ten. */
function niceLength(length) {
  const power = 10 ** Math.floor(Math.log10(length));
  return power * [5, 2, 1].find((factor) => factor * power <= length * 1.0001);
}
