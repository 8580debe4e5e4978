// Draws one robot on a canvas: its shapes in flat shading, its base spring, the reference and the tool's trail.

const TRAIL_SECONDS = 6;
const SHINES_THROUGH = 0.35; // opacity of the arm behind a wall: what it does there is to be seen
const PUSH_FADES_SECONDS = 0.6; // a push of a tenth of a second must be seen

class Stage {
  constructor(canvas, robot, view, camera, depth) {
    Object.assign(this, { canvas, robot, view, camera, depth });
    this.faces = robot.data.shapes.map(shapeFaces);
  }

  show(motion, pushes, color) {
    Object.assign(this, { motion, pushes, color });
    this.prepareTrail();
  }

  draw(time, exaggeration, theme) {
    const context = fitCanvas(this.canvas);
    const { clientWidth: width, clientHeight: height } = this.canvas;
    this.scale = 0.86 * Math.min(width / this.view.size[0], height / this.view.size[1]);
    const middle = this.camera.turn(this.view.center);
    this.project = (point) => {
      const [x, y, depth] = this.camera.turn(point);
      return [width / 2 + this.scale * (x - middle[0]), height / 2 - this.scale * (y - middle[1]), this.scale * depth];
    };
    const values = this.motion.at(time);
    const held = this.motion.data.in_root; // a tool held in the world is drawn there, whatever the base is drawn to do
    const poses = held ? this.robot.posesWithToolInPlace(values, exaggeration) : this.robot.poses(values, exaggeration);
    const rest = this.robot.poses(values, 0);
    this.drawGrid(context, theme, width, height);
    this.drawShadow(context, theme, poses);
    const [ground, robot] = [["ground"], ["base", "arm"]].map((carriers) => this.facesOf(carriers, poses));
    this.drawShapes(context, theme, ground, []);
    this.drawRest(context, theme, rest);
    this.drawSprings(context, theme, poses, rest);
    if (ground.length) {
      context.globalAlpha = SHINES_THROUGH;
      this.drawShapes(context, theme, robot, []);
      context.globalAlpha = 1;
    }
    this.drawShapes(context, theme, robot, ground);
    this.drawPaths(context, theme, time, values, poses);
    this.drawPushes(context, theme, time, poses);
    this.drawScale(context, theme, width, height);
  }

  drawGrid(context, theme, width, height) {
    const spacing = niceLength(this.view.radius / 3);
    const [cx, cy] = this.view.center;
    const reach = spacing * Math.ceil((1.6 * Math.max(width, height)) / this.scale / spacing / 2);
    const [ox, oy] = [Math.round(cx / spacing) * spacing, Math.round(cy / spacing) * spacing];
    const { floor } = this.view;
    context.strokeStyle = theme.line;
    context.lineWidth = 0.7;
    context.beginPath();
    for (let d = -reach; d <= reach + 1e-9; d += spacing) {
      this.trace(context, [[ox + d, oy - reach, floor], [ox + d, oy + reach, floor]]);
      this.trace(context, [[ox - reach, oy + d, floor], [ox + reach, oy + d, floor]]);
    }
    context.stroke();
  }

  /** What the shapes leave on the floor under light from straight above. */
  drawShadow(context, theme, poses) {
    if (this.camera.axes[2][2] < 0.2) return;
    context.fillStyle = theme.shadow;
    context.beginPath();
    this.robot.data.shapes.forEach((shape, i) => {
      const pose = compose(poses[shape.link], shape.origin);
      for (const face of this.faces[i]) {
        if (rotateVector(pose, face.normal)[2] <= 1e-3) continue; // faces that look up, so all run the same way round
        polygon(context, face.points.map((point) => {
          const [x, y] = transformPoint(pose, point);
          return this.project([x, y, this.view.floor]);
        }));
      }
    });
    context.fill();
  }

  /** Outline of the base where it rests, to see how far it is out. */
  drawRest(context, theme, rest) {
    context.strokeStyle = theme.muted;
    context.lineWidth = 1;
    context.setLineDash([3, 3]);
    for (const { points } of this.facesOf(["base"], rest).filter((face) => !face.smooth)) {
      context.beginPath();
      polygon(context, points);
      context.stroke();
    }
    context.setLineDash([]);
  }

  /** A zigzag behind every sliding elastic joint. */
  drawSprings(context, theme, poses, rest) {
    for (const joint of this.robot.data.joints) {
      if (!joint.elastic || !joint.slides) continue;
      const axis = rotateVector(poses[joint.child], joint.axis);
      const [middle, half] = this.extent(joint.child, joint.axis);
      const near = along(transformPoint(poses[joint.child], middle), axis, -half);
      const anchor = along(transformPoint(rest[joint.child], middle), axis, -half - 0.16 * this.view.size[0]);
      const side = normalize(cross(axis, this.camera.axes[2]));
      const coil = 0.018 * this.view.size[0];
      const points = [anchor];
      for (let i = 0; i <= 12; i++) {
        const share = 0.12 + (0.76 * i) / 12;
        const offset = i === 0 || i === 12 ? 0 : i % 2 ? coil : -coil;
        points.push(along(mix(anchor, near, share), side, offset));
      }
      points.push(near);
      context.lineJoin = context.lineCap = "round";
      const wall = [along(anchor, side, -2 * coil), along(anchor, side, 2 * coil)];
      for (const [color, spring, end] of [[theme.card, 5, 7], [theme.ink, 2, 4]]) {
        context.strokeStyle = color;
        [[points, spring], [wall, end]].forEach(([line, thickness]) => {
          context.lineWidth = thickness;
          context.beginPath();
          this.trace(context, line);
          context.stroke();
        });
      }
    }
  }

  /** Middle of a link's shapes and half their extent along an axis, in the link's frame. */
  extent(link, axis) {
    const shapes = this.robot.data.shapes.filter((shape) => shape.link === link);
    if (!shapes.length) return [[0, 0, 0], 0];
    const first = shapes[0];
    const size = first.kind === "box" || first.kind === "mesh" ? first.size : [2 * first.size[0], 2 * first.size[0], first.size[1] || 2 * first.size[0]];
    const half = axis.reduce((sum, component, i) => sum + (Math.abs(component) * size[i]) / 2, 0);
    return [[first.origin[3], first.origin[7], first.origin[11]], half];
  }

  /** Draw faces; others, drawn before, may hide them. */
  drawShapes(context, theme, faces, others) {
    const [red, green, blue, percent] = theme.edge.match(/[\d.]+/g).map(Number);
    if (this.depth.works) {
      this.depth.draw(context, faces, others, [red / 255, green / 255, blue / 255, percent / 100]);
      return;
    }
    context.lineJoin = "round";
    for (const face of faces.sort((a, b) => a.depth - b.depth)) { // no WebGL: by their middles, right for most
      context.fillStyle = `rgb(${face.color.map((channel) => Math.round(255 * channel)).join(" ")})`;
      context.beginPath();
      polygon(context, face.points);
      context.fill();
      context.strokeStyle = face.smooth ? context.fillStyle : theme.edge;
      context.lineWidth = face.smooth ? 0.6 : 1;
      context.stroke();
    }
  }

  /** Visible faces, on the screen, of the links that are carried by the ground, the base or the arm. */
  facesOf(carriers, poses) {
    const found = [];
    this.robot.data.shapes.forEach((shape, i) => {
      if (!carriers.includes(this.robot.carried[shape.link])) return;
      const pose = compose(poses[shape.link], shape.origin);
      for (const face of this.faces[i]) {
        const normal = this.camera.turn(rotateVector(pose, face.normal));
        if (normal[2] <= 1e-3) continue;
        const points = face.points.map((point) => this.project(transformPoint(pose, point)));
        const depth = points.reduce((sum, point) => sum + point[2], 0) / points.length;
        const light = 0.55 + 0.5 * Math.max(0, normal[0] * LIGHT[0] + normal[1] * LIGHT[1] + normal[2] * LIGHT[2]);
        found.push({ points, color: shade(shape.color, light), depth, smooth: face.smooth });
      }
    });
    return found;
  }

  drawPaths(context, theme, time, values, poses) {
    const carrier = this.motion.data.in_root ? IDENTITY : poses[this.robot.data.base];
    context.lineCap = "round";
    context.strokeStyle = theme.ink;
    context.lineWidth = 1.2;
    context.setLineDash([5, 4]);
    context.beginPath();
    this.trace(context, this.referencePath.map((point) => transformPoint(carrier, point)));
    context.stroke();
    context.setLineDash([]);
    const place = this.motion.frameAt(time);
    const rate = (this.motion.count - 1) / (this.motion.data.end - this.motion.data.begin);
    const first = Math.max(0, Math.ceil(place - TRAIL_SECONDS * rate));
    const here = this.robot.tool(poses);
    context.strokeStyle = this.color;
    context.lineWidth = 2.4;
    const pieces = 18;
    for (let i = 0; i < pieces; i++) {
      const begin = Math.floor(first + ((place - first) * i) / pieces);
      const end = Math.floor(first + ((place - first) * (i + 1)) / pieces);
      const points = this.trail.slice(begin, end + 1).map((point) => transformPoint(carrier, point));
      context.globalAlpha = 0.15 + (0.85 * (i + 1)) / pieces;
      context.beginPath();
      this.trace(context, i === pieces - 1 ? [...points, here] : points);
      context.stroke();
    }
    context.globalAlpha = 1;
    const reference = this.motion.reference(values);
    if (reference.every(Number.isFinite)) {
      dot(context, this.project(transformPoint(carrier, reference)), 6.5, null, theme.ink);
    }
    dot(context, this.project(here), 3.6, this.color, theme.card);
  }

  /** Tool positions of every frame and the reference's path, both in the frame of the reference: as large as they are. */
  prepareTrail() {
    this.trail = [];
    this.referencePath = [];
    for (let frame = 0; frame < this.motion.count; frame++) {
      const values = Array.from({ length: this.motion.channels }, (_, i) => this.motion.value(frame, i));
      const poses = this.robot.poses(values.map((value) => value || 0), 1);
      const tool = this.robot.tool(poses);
      this.trail.push(this.motion.data.in_root ? tool : inFrame(poses[this.robot.data.base], tool));
      const reference = this.motion.reference(values);
      if (reference.every(Number.isFinite)) this.referencePath.push(reference);
    }
  }

  /** An arrow onto the pushed link, fading after the push. */
  drawPushes(context, theme, time, poses) {
    for (const { link, begin, end, force } of this.pushes) {
      const strength = time < begin ? 0 : Math.min(1, 1 - (time - end) / PUSH_FADES_SECONDS);
      const direction = normalize(force);
      if (strength <= 0 || !direction.some(Boolean)) continue;
      const [middle, half] = this.extent(link, direction);
      const above = along(transformPoint(poses[link], middle), this.camera.axes[1], 0.05 * this.view.size[0]);
      const tip = along(above, direction, -half); // above the spring, which may lie in the same line
      const length = 0.17 * this.view.size[0];
      const side = normalize(cross(direction, this.camera.axes[2]));
      const barb = (sign) => along(along(tip, direction, -0.25 * length), side, 0.14 * sign * length);
      context.globalAlpha = strength;
      context.strokeStyle = theme.mark;
      context.lineWidth = 5;
      context.lineJoin = context.lineCap = "round";
      context.beginPath();
      this.trace(context, [along(tip, direction, -length), tip]);
      this.trace(context, [barb(1), tip, barb(-1)]);
      context.stroke();
      context.globalAlpha = 1;
    }
  }

  drawScale(context, theme, width, height) {
    const length = niceLength(this.view.size[0] / 5);
    const pixels = length * this.scale;
    context.strokeStyle = theme.muted;
    context.fillStyle = theme.muted;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(width - 14 - pixels, height - 12);
    context.lineTo(width - 14, height - 12);
    context.stroke();
    context.font = theme.font;
    context.textAlign = "right";
    context.fillText(`${Number(length.toPrecision(2))} m`, width - 14, height - 18);
  }

  trace(context, points) {
    points.forEach((point, i) => {
      const [x, y] = this.project(point);
      if (i) context.lineTo(x, y);
      else context.moveTo(x, y);
    });
  }
}
