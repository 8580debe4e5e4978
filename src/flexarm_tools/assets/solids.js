// Camera, faces of shapes, and their drawing with a depth buffer.

const LIGHT = [-0.34, 0.5, 0.8];
const EDGE_STANDS_OUT = 1.5; // [pixel] so that an edge on another shape's surface is not drawn in pieces
const SHADERS = [`
  attribute vec3 place;
  attribute vec4 color;
  varying vec4 tint;
  void main() { gl_Position = vec4(place, 1.0); tint = color; }`, `
  precision mediump float;
  varying vec4 tint;
  void main() { gl_FragColor = tint; }`];

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

/** Faces of a shape as lists of points in its own frame, counterclockwise for who looks at them, each with its normal. */
function shapeFaces(shape) {
  if (shape.kind === "mesh") {
    const point = (i) => shape.points.slice(3 * i, 3 * i + 3).map((steps) => steps * shape.grain);
    return Array.from({ length: shape.faces.length / 3 }, (_, k) => {
      const points = shape.faces.slice(3 * k, 3 * k + 3).map(point);
      return { points, normal: normalize(cross(along(points[1], points[0], -1), along(points[2], points[0], -1))), smooth: true };
    });
  }
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
      return { points: side > 0 ? around : around.reverse(), normal: axis.map((component) => component * side) };
    }));
  }
  const [radius, length] = shape.size;
  const ball = shape.kind === "sphere";
  const arc = Array.from({ length: 11 }, (_, i) => [radius * Math.sin((i * Math.PI) / 10), radius * Math.cos((i * Math.PI) / 10)]);
  const profile = ball ? arc : [[radius, length / 2], [radius, -length / 2]];
  const rim = Array.from({ length: 28 }, (_, i) => [Math.cos((i * Math.PI) / 14), Math.sin((i * Math.PI) / 14)]);
  const rings = profile.map(([r, z]) => rim.map(([c, s]) => [r * c, r * s, z]));
  const sides = rings.slice(1).flatMap((lower, k) => lower.map((point, i) => {
    const next = (i + 1) % rim.length;
    const points = [point, lower[next], rings[k][next], rings[k][i]];
    return { points, normal: normalize(cross(along(points[2], points[0], -1), along(points[3], points[1], -1))), smooth: true };
  }));
  return ball ? sides : [{ points: rings[0], normal: [0, 0, 1] }, { points: rings[1].reverse(), normal: [0, 0, -1] }, ...sides];
}

/** Draws faces so that the nearest is seen at every pixel (WebGL). One is enough for all stages. */
class DepthBuffer {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.gl = this.canvas.getContext("webgl", { antialias: true });
    const { gl } = this;
    if (!gl) return;
    const program = gl.createProgram();
    SHADERS.forEach((source, i) => {
      const shader = gl.createShader(i ? gl.FRAGMENT_SHADER : gl.VERTEX_SHADER);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    });
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    [["place", 3, 0], ["color", 4, 12]].forEach(([name, size, offset], i) => {
      gl.bindAttribLocation(program, i, name);
      gl.enableVertexAttribArray(i);
      gl.vertexAttribPointer(i, size, gl.FLOAT, false, 28, offset);
    });
    gl.linkProgram(program);
    gl.useProgram(program);
    [gl.DEPTH_TEST, gl.BLEND].forEach((ability) => gl.enable(ability));
    gl.depthFunc(gl.LEQUAL);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** Whether the browser has WebGL. */
  get works() {
    return this.gl !== null && !this.gl.isContextLost();
  }

  /** Draw faces onto a canvas's context; others hide them but are not drawn themselves. Edge: red, green, blue, alpha. */
  draw(context, faces, others, edge) {
    const { gl, canvas } = this;
    const { width, height } = context.canvas;
    if (!width || !height) return; // not laid out yet
    const { a: ratio } = context.getTransform();
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const all = [...others, ...faces];
    const reach = 1.01 * Math.max(1, ...all.map((face) => Math.max(...face.points.map((point) => Math.abs(point[2])))));
    const numbers = [];
    const put = ([x, y, depth], color) => numbers.push((2 * ratio * x) / width - 1, 1 - (2 * ratio * y) / height, -depth / reach, ...color);
    const count = () => numbers.length / 7;
    const fill = (points, color) => {
      for (let i = 2; i < points.length; i++) [points[0], points[i - 1], points[i]].forEach((point) => put(point, color));
    };
    for (const { points, color } of others) fill(points, [...color, 1]);
    const hiding = count();
    for (const { points, color } of faces) fill(points, [...color, 1]);
    for (const { points } of faces.filter((face) => !face.smooth)) {
      points.forEach((point, i) => fill(stripe(point, points[(i + 1) % points.length]), edge));
    }
    gl.viewport(0, 0, width, height);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(numbers), gl.STREAM_DRAW);
    gl.colorMask(false, false, false, false);
    gl.drawArrays(gl.TRIANGLES, 0, hiding);
    gl.colorMask(true, true, true, true);
    gl.drawArrays(gl.TRIANGLES, hiding, count() - hiding);
    context.drawImage(canvas, 0, 0, width / ratio, height / ratio);
  }
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

/** A line a pixel wide, as a face. */
function stripe(from, to) {
  const length = 2 * Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
  const [x, y] = [(from[1] - to[1]) / length, (to[0] - from[0]) / length];
  return [[from, 1], [to, 1], [to, -1], [from, -1]].map(([point, side]) => along([...point], [side * x, side * y, EDGE_STANDS_OUT], 1));
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

const shade = (color, light) => color.map((channel) => Math.min(1, (channel * light) / 255));
const along = (point, axis, length) => point.map((component, i) => component + length * axis[i]);
const mix = (a, b, share) => a.map((component, i) => component + share * (b[i] - component));
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

function normalize(v) {
  const length = Math.hypot(...v);
  return length > 1e-12 ? v.map((component) => component / length) : [0, 0, 0];
}

/** The next smaller of 1, 2, 5 times a power of ten. */
function niceLength(length) {
  const power = 10 ** Math.floor(Math.log10(length));
  return power * [5, 2, 1].find((factor) => factor * power <= length * 1.0001);
}
