// The player: one clock for one or two stages, a timeline of what deflects, and the controls.

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5, 10];
const EXAGGERATIONS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];

class Player {
  constructor(root, data) {
    this.root = root;
    this.data = data;
    this.motions = data.runs.map((run) => new Motion(run.motion));
    this.robots = data.robots.map((robot) => new Robot(robot.tree));
    this.cameras = data.robots.map((robot) => new Camera(robot.view));
    this.depth = new DepthBuffer();
    this.time = 0;
    this.speed = 1;
    this.exaggeration = data.exaggeration;
    this.playing = false;
    this.wanted = data.shown.map((name) => data.runs.findIndex((run) => run.name === name));
    this.build();
    this.readAddress();
    this.choose();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.refreshTheme());
    addEventListener("hashchange", () => {
      this.pause();
      this.readAddress();
      this.choose();
    });
    new ResizeObserver(() => this.draw()).observe(this.root);
  }

  build() {
    this.stages = this.wanted.map((_, i) => this.buildStage(i));
    const stages = element("div", { className: "stages" }, this.stages.map((stage) => stage.card));
    this.timeline = element("canvas", { className: "timeline" });
    this.timeline.setAttribute("aria-hidden", "true");
    this.timeline.addEventListener("pointerdown", (event) => this.scrub(event));
    this.timeline.addEventListener("pointermove", (event) => event.buttons && this.scrub(event));
    this.slider = element("input", { type: "range", min: 0, max: 1000, step: 1, className: "scrubber" });
    this.slider.setAttribute("aria-label", "Time");
    this.slider.addEventListener("input", () => {
      this.time = this.begin + ((this.end - this.begin) * this.slider.value) / 1000;
      this.pause();
    });
    this.caption = element("div", { className: "caption" });
    this.root.append(stages, this.buildControls(), this.caption, this.timeline, this.slider);
  }

  buildStage(i) {
    const canvas = element("canvas", { className: "stage", tabIndex: 0 });
    canvas.setAttribute("role", "img");
    const picker = element("select", {}, this.data.runs.map((run, j) => new Option(run.title, j)));
    picker.setAttribute("aria-label", `Run shown in view ${i + 1}`);
    picker.addEventListener("change", () => {
      this.wanted[i] = Number(picker.value);
      this.choose();
    });
    const name = element("div", { className: "stage-name" }, [
      element("span", { className: "swatch" }),
      this.data.runs.length > 1 ? picker : element("strong", { textContent: this.data.runs[0].title }),
    ]);
    const [base, error] = [readout("base"), readout("tool error")];
    const head = element("div", { className: "stage-head" }, [name, element("div", { className: "readouts" }, [base, error])]);
    const card = element("div", { className: "stage-card" }, [head, canvas]);
    this.orbit(canvas, i);
    return { card, canvas, picker, base, error, swatch: name.firstChild };
  }

  buildControls() {
    this.button = element("button", { type: "button", className: "play" });
    this.button.addEventListener("click", () => (this.playing ? this.pause() : this.play()));
    this.clock = element("output", { className: "clock" });
    const speed = element("select", {}, SPEEDS.map((s) => new Option(`${s}×`, s, s === 1, s === 1)));
    speed.addEventListener("change", () => (this.speed = Number(speed.value)));
    const size = element("input", { type: "range", min: 0, max: EXAGGERATIONS.length - 1, step: 1 });
    size.value = EXAGGERATIONS.indexOf(this.exaggeration);
    this.factor = element("output", {});
    this.sizeSlider = size;
    size.addEventListener("input", () => this.exaggerate(EXAGGERATIONS[size.value]));
    this.exaggerate(this.exaggeration);
    const exaggerated = element("label", { className: "exaggeration" }, ["Base motion drawn ", this.factor, size]);
    exaggerated.hidden = !this.data.runs.some((run) => run.motion.elastic);
    const reset = element("button", { type: "button", textContent: "Reset view", title: "Drag a view to turn it" });
    reset.addEventListener("click", () => {
      this.cameras.forEach((camera) => camera.reset());
      this.draw();
    });
    return element("div", { className: "controls" }, [
      this.button,
      this.clock,
      element("label", {}, ["Speed ", speed]),
      exaggerated,
      reset,
    ]);
  }

  exaggerate(factor) {
    this.exaggeration = factor;
    this.factor.textContent = `${factor}×`;
    this.sizeSlider.setAttribute("aria-valuetext", `${factor} times`);
    if (this.theme) this.draw();
  }

  /** Turn a view by dragging, or with the arrow keys while it has the focus. */
  orbit(canvas, i) {
    const turn = (right, up) => {
      const camera = this.cameras[this.data.runs[this.wanted[i]].robot];
      camera.aim(camera.azimuth - right, camera.elevation + up);
      this.draw();
    };
    canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
    canvas.addEventListener("pointermove", (event) => {
      if (event.buttons && event.pointerType !== "touch") turn(event.movementX * 0.008, event.movementY * 0.008);
    });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
      if (event.key === " ") this.playing ? this.pause() : this.play();
      else if (step) turn(...step);
      else return;
      event.preventDefault();
    });
  }

  /** `#t=2.5&x=20&runs=a,b&view=0,60` opens the page at a time, paused, with an exaggeration, runs and angles [deg]. */
  readAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    const known = (given.get("runs") || "").split(",").map((name) => this.data.runs.findIndex((run) => run.name === name));
    known.filter((run) => run >= 0).slice(0, this.wanted.length).forEach((run, i) => (this.wanted[i] = run));
    if (EXAGGERATIONS.includes(Number(given.get("x")))) {
      this.sizeSlider.value = EXAGGERATIONS.indexOf(Number(given.get("x")));
      this.exaggerate(Number(given.get("x")));
    }
    const angles = (given.get("view") || "").split(",").map((angle) => (Number(angle) * Math.PI) / 180);
    if (angles.length === 2 && angles.every(Number.isFinite)) this.cameras.forEach((camera) => camera.aim(...angles));
    if (given.has("t") && Number.isFinite(Number(given.get("t")))) {
      this.startAt = Number(given.get("t"));
      this.stopped = true;
    }
  }

  choose() {
    this.shown = this.wanted.map((run) => ({ run: this.data.runs[run], motion: this.motions[run] }));
    this.begin = Math.min(...this.shown.map(({ motion }) => motion.data.begin));
    this.end = Math.max(...this.shown.map(({ motion }) => motion.data.end));
    this.stages.forEach((stage, i) => {
      const { run } = this.shown[i];
      const description = this.data.robots[run.robot];
      stage.picker.value = this.wanted[i];
      stage.view = new Stage(stage.canvas, this.robots[run.robot], description.view, this.cameras[run.robot], this.depth);
      stage.canvas.style.aspectRatio = String(Math.min(Math.max(description.view.size[0] / description.view.size[1], 1.05), 2));
      stage.canvas.setAttribute("aria-label", `Animation of the arm and its base: ${run.title}`);
    });
    this.time = Math.min(Math.max(this.startAt ?? this.time, this.begin), this.end);
    this.startAt = undefined;
    this.refreshTheme();
  }

  refreshTheme() {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    this.theme = Object.fromEntries(["ink", "muted", "line", "edge", "shadow", "card", "mark"].map((name) => [name, color(name)]));
    this.theme.font = `12px ${style.getPropertyValue("--sans")}`;
    this.stages.forEach((stage, i) => {
      const { run, motion } = this.shown[i];
      stage.view.show(motion, run.pushes, color(`series-${run.color}`));
      stage.swatch.style.background = stage.view.color;
    });
    this.draw();
  }

  play() {
    if (this.time >= this.end) this.time = this.begin;
    this.playing = true;
    this.last = performance.now();
    requestAnimationFrame((now) => this.step(now));
    this.draw();
  }

  pause() {
    this.playing = false;
    this.draw();
  }

  step(now) {
    if (!this.playing) return;
    this.time += Math.min((now - this.last) / 1000, 0.1) * this.speed;
    this.last = now;
    if (this.time > this.end) this.time = this.begin;
    this.draw();
    requestAnimationFrame((later) => this.step(later));
  }

  scrub(event) {
    const share = (event.offsetX - this.left) / (this.timeline.clientWidth - this.left - this.right);
    this.time = this.begin + Math.min(Math.max(share, 0), 1) * (this.end - this.begin);
    this.pause();
  }

  draw() {
    if (!this.theme) return;
    this.button.textContent = this.playing ? "Pause" : "Play";
    this.clock.textContent = `${this.time.toFixed(2)} s`;
    this.slider.value = (1000 * (this.time - this.begin)) / (this.end - this.begin);
    this.slider.setAttribute("aria-valuetext", `${this.time.toFixed(2)} seconds`);
    this.stages.forEach((stage, i) => {
      const { motion } = this.shown[i];
      stage.view.draw(this.time, this.exaggeration, this.theme);
      const values = motion.at(this.time);
      const { peaks } = motion;
      setReadout(stage.base, motion.deflection(values).map(([value, unit], k) => [value, unit, peaks.deflection[k], this.most((all) => all.deflection[k])]));
      setReadout(stage.error, [[motion.error(values), "m", peaks.error, this.most((all) => all.error)]]);
    });
    this.drawTimeline();
  }

  /** Largest of what the shown runs reach: they share a unit. */
  most(choose) {
    return Math.max(...this.shown.map(({ motion }) => choose(motion.peaks) || 0));
  }

  drawTimeline() {
    const context = fitCanvas(this.timeline);
    const { clientWidth: width, clientHeight: height } = this.timeline;
    [this.left, this.right] = [8, 8];
    const [top, bottom] = [20, height - 20];
    const curves = this.shown.map(({ motion }) => motion.data.timeline[1]);
    const peak = Math.max(1e-12, ...curves.flatMap((curve) => curve.map(Math.abs)));
    const lowest = curves.every((curve) => curve.every((value) => value >= 0)) ? 0 : -peak; // a size needs no lower half
    const x = (time) => this.left + ((time - this.begin) / (this.end - this.begin)) * (width - this.left - this.right);
    const y = (value) => bottom - 2 - ((value - lowest) / (peak - lowest)) * (bottom - top - 4);
    context.font = this.theme.font;
    context.lineWidth = 1;
    context.strokeStyle = this.theme.line;
    context.fillStyle = this.theme.muted;
    const least = (60 * (this.end - this.begin)) / width; // as wide as a number
    const spacing = [1, 2.5, 5].map((factor) => factor * niceLength((this.end - this.begin) / 4)).find((each) => each >= least) || this.end - this.begin;
    context.textAlign = "center";
    for (let t = Math.ceil(this.begin / spacing) * spacing; t <= this.end; t += spacing) {
      stroke(context, [[x(t), top], [x(t), bottom]]);
      if (x(t) > 24 && x(t) < width - 24) context.fillText(`${Number(t.toPrecision(6))} s`, x(t), height - 5);
    }
    stroke(context, [[this.left, y(0)], [width - this.right, y(0)]]);
    for (const { run } of this.shown) {
      for (const [from, to] of run.markers) {
        context.fillStyle = context.strokeStyle = this.theme.mark;
        context.globalAlpha = 0.25;
        context.fillRect(x(from), top, Math.max(x(to) - x(from), 1.5), bottom - top);
        context.globalAlpha = 1;
      }
    }
    this.drawPhases(context, x, bottom);
    [...this.shown.keys()].reverse().forEach((i) => {
      const [times, values] = this.shown[i].motion.data.timeline;
      context.strokeStyle = this.stages[i].view.color;
      context.lineWidth = 1.8;
      stroke(context, times.map((time, j) => [x(time), y(values[j])]));
    });
    const unit = this.shown[0].motion.data.timeline_unit;
    const label = [...new Set(this.shown.map(({ motion }) => motion.data.timeline_of))].join(", ");
    const scale = `${lowest < 0 ? "±" : ""}${withPrefix(peak, unit)}`;
    this.caption.textContent = peak > 1e-12 ? `${label}, full scale ${scale}` : `${label}: none`;
    context.strokeStyle = this.theme.ink;
    context.lineWidth = 1.4;
    stroke(context, [[x(this.time), 2], [x(this.time), bottom + 3]]);
  }

  /** Names of the phases above the timeline, the present one stronger; a name that has no room is left out. */
  drawPhases(context, x, bottom) {
    const { phases } = this.shown[0].run;
    context.textAlign = "left";
    context.strokeStyle = this.theme.muted;
    let free = 0;
    phases.forEach(([start, name], i) => {
      const end = i + 1 < phases.length ? phases[i + 1][0] : this.end;
      const place = Math.max(x(Math.max(start, this.begin)), this.left);
      stroke(context, [[place, 4], [place, bottom]]);
      const now = start <= this.time && this.time < end;
      context.font = now ? `bold ${this.theme.font}` : this.theme.font;
      context.fillStyle = now ? this.theme.ink : this.theme.muted;
      if (place < free) return;
      context.fillText(name, place + 4, 14);
      free = place + 8 + context.measureText(name).width;
    });
    context.font = this.theme.font;
  }
}

function element(tag, properties, children = []) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function readout(label) {
  return element("span", { className: "readout" }, [`${label} `, element("b", {})]);
}

/** Shows [value, unit, peak, scale] of what is known. */
function setReadout(node, items) {
  const known = items.filter(([value]) => Number.isFinite(value));
  node.hidden = !known.length;
  node.lastChild.textContent = known.map((item) => withPrefix(...item)).join(", ");
}

/** `-4.30 mm`: three digits at the peak, and the prefix of the scale, so that neither jumps while the value changes. */
function withPrefix(value, unit, peak = Math.abs(value), scale = peak) {
  if (unit.includes(" ")) return `${value.toPrecision(3).replace("-", "−")} (${unit})`;
  if (peak < 5e-13) return `0 ${unit}`;
  const prefixes = [[1, ""], [1e3, "m"], [1e6, "µ"]];
  const [factor, prefix] = prefixes.find(([f]) => scale * f >= 0.9995) || prefixes[2];
  const digits = Math.max(0, 2 - Math.floor(Math.log10(peak * factor * 1.0005)));
  return `${(value * factor).toFixed(Math.min(digits, 4)).replace("-", "−")} ${prefix}${unit}`;
}

function stroke(context, points) {
  context.beginPath();
  points.forEach(([px, py], i) => (i ? context.lineTo(px, py) : context.moveTo(px, py)));
  context.stroke();
}

for (const root of document.querySelectorAll(".player")) {
  const player = new Player(root, JSON.parse(document.getElementById(root.dataset.source).textContent));
  if (!player.stopped && !matchMedia("(prefers-reduced-motion: reduce)").matches) player.play();
}
