r"""Signed distance of a segment, the axis of a capsule, to a sphere, a half-space or a box (compiled).

The signed distance of two convex bodies is the length of the shortest connection if they are separate, and minus the
penetration depth (the length of the shortest translation that separates them) if they overlap. On both sides of zero
it changes by as much as either body moves along the direction. The distance of a capsule is that of its axis minus its
radius.

Outside a box the squared distance of a point is convex and piecewise quadratic along the segment,
``d^2(t) = sum_i max(|x_i(t)| - h_i, 0)^2``. The zero of its piecewise linear slope is found exactly, between the points
where the segment crosses the planes of the faces. Inside, the shortest separating translation is along a face normal of
the Minkowski difference of the two bodies: one of the three face normals of the box, or one of the three cross products
of its edges with the segment.
"""

from __future__ import annotations

import math

from flexarm_core.behavior_impedance.avoidance.obstacles import HALF_SPACE, SPHERE
from flexarm_core.compiled import kernel
from flexarm_core.types import Array

TOUCHING = 1e-9  # [m] distance below which the direction to the nearest point is not defined
PARALLEL = 1e-12  # square of the sine below which a segment is parallel to an edge
Nearest = tuple[float, float, float, float, float]


@kernel
def segment_distance(placed: Array, row: int, obstacles: Array, k: int, steadiness: float) -> Nearest:
    """Compute the signed distance of a segment to an obstacle, with its direction and nearest point.

    Args:
        placed: (c, 6) end points a, b of the segments in the base frame [m].
        row: index of the segment.
        obstacles: (m, 16) table of obstacles.
        k: index of the obstacle.
        steadiness: weight that keeps the nearest point from jumping along the segment when the segment rotates through
            a position parallel to a face of a box: direction and point are those of the minimum of
            ``d^2(t) + steadiness |b - a|^2 (t - 1/2)^2``. 0: exact nearest point.

    Returns:
        Distance [m], negative for penetration; unit direction (3) from the obstacle to the segment; t of the nearest
        point ``a + t (b - a)``, 0 to 1.
    """
    ax, ay, az = placed[row, 0], placed[row, 1], placed[row, 2]
    dx, dy, dz = placed[row, 3] - ax, placed[row, 4] - ay, placed[row, 5] - az
    ax, ay, az = ax - obstacles[k, 1], ay - obstacles[k, 2], az - obstacles[k, 3]
    if obstacles[k, 0] == SPHERE:
        return _to_sphere((ax, ay, az), (dx, dy, dz), obstacles[k, 13])
    if obstacles[k, 0] == HALF_SPACE:
        nx, ny, nz = obstacles[k, 6], obstacles[k, 9], obstacles[k, 12]
        rise = nx * dx + ny * dy + nz * dz
        t = 0.0 if rise >= 0.0 else 1.0
        return nx * ax + ny * ay + nz * az + t * rise, nx, ny, nz, t
    xx, xy, xz = obstacles[k, 4], obstacles[k, 5], obstacles[k, 6]
    yx, yy, yz = obstacles[k, 7], obstacles[k, 8], obstacles[k, 9]
    zx, zy, zz = obstacles[k, 10], obstacles[k, 11], obstacles[k, 12]
    distance, ux, uy, uz, t = _to_box(
        (xx * ax + yx * ay + zx * az, xy * ax + yy * ay + zy * az, xz * ax + yz * ay + zz * az),
        (xx * dx + yx * dy + zx * dz, xy * dx + yy * dy + zy * dz, xz * dx + yz * dy + zz * dz),
        (obstacles[k, 13], obstacles[k, 14], obstacles[k, 15]),
        steadiness * (dx * dx + dy * dy + dz * dz),
    )
    return (
        distance,
        xx * ux + xy * uy + xz * uz,
        yx * ux + yy * uy + yz * uz,
        zx * ux + zy * uy + zz * uz,
        t,
    )


@kernel
def _to_sphere(a: tuple[float, ...], d: tuple[float, ...], radius: float) -> Nearest:
    """Compute the signed distance of the segment ``a + t d`` to a sphere centered at the origin."""
    ax, ay, az = a
    dx, dy, dz = d
    square = dx * dx + dy * dy + dz * dz
    t = min(max(-(ax * dx + ay * dy + az * dz) / square, 0.0), 1.0) if square > 0.0 else 0.0
    x, y, z = ax + t * dx, ay + t * dy, az + t * dz
    distance = math.sqrt(x * x + y * y + z * z)
    if distance > TOUCHING:
        return distance - radius, x / distance, y / distance, z / distance, t
    # The segment passes through the center: any direction normal to it is a shortest way out.
    if abs(dx) <= abs(dy) and abs(dx) <= abs(dz):
        x, y, z = 0.0, -dz, dy
    elif abs(dy) <= abs(dz):
        x, y, z = dz, 0.0, -dx
    else:
        x, y, z = -dy, dx, 0.0
    length = math.sqrt(x * x + y * y + z * z)
    if length > 0.0:
        return distance - radius, x / length, y / length, z / length, t
    return distance - radius, 0.0, 0.0, 1.0, t


@kernel
def _excess(x: float, h: float) -> float:
    """Return how far a coordinate lies beyond the faces at -h and h; 0 between them."""
    return x - min(max(x, -h), h)


@kernel
def _slope(a: tuple[float, ...], d: tuple[float, ...], h: tuple[float, ...], pull: float, t: float) -> float:
    """Return half the derivative of ``d^2(t) + pull (t - 1/2)^2``."""
    return (
        d[0] * _excess(a[0] + t * d[0], h[0])
        + d[1] * _excess(a[1] + t * d[1], h[1])
        + d[2] * _excess(a[2] + t * d[2], h[2])
        + pull * (t - 0.5)
    )


@kernel
def _lowest(a: tuple[float, ...], d: tuple[float, ...], h: tuple[float, ...], pull: float) -> float:
    """Return the t in [0, 1] that minimizes ``d^2(t) + pull (t - 1/2)^2``."""
    low, high = 0.0, 1.0
    at_low = _slope(a, d, h, pull, low)
    if at_low >= 0.0:
        return low
    at_high = _slope(a, d, h, pull, high)
    if at_high <= 0.0:
        return high
    for axis in range(3):
        if d[axis] != 0.0:
            for side in (-1.0, 1.0):
                t = (side * h[axis] - a[axis]) / d[axis]
                if low < t < high:
                    at = _slope(a, d, h, pull, t)
                    if at < 0.0:
                        low, at_low = t, at
                    else:
                        high, at_high = t, at
    return low - at_low * (high - low) / (at_high - at_low)


@kernel
def _to_box(a: tuple[float, ...], d: tuple[float, ...], h: tuple[float, ...], pull: float) -> Nearest:
    """Compute the signed distance of the segment ``a + t d`` to a box with half extents h, in the box frame."""
    t = _lowest(a, d, h, 0.0)
    x, y, z = _excess(a[0] + t * d[0], h[0]), _excess(a[1] + t * d[1], h[1]), _excess(a[2] + t * d[2], h[2])
    distance = math.sqrt(x * x + y * y + z * z)
    if not distance > TOUCHING:
        return _out_of_box(a, d, h)
    length = distance
    if pull > 0.0:
        t = _lowest(a, d, h, pull)
        x, y, z = _excess(a[0] + t * d[0], h[0]), _excess(a[1] + t * d[1], h[1]), _excess(a[2] + t * d[2], h[2])
        length = math.sqrt(x * x + y * y + z * z)
    return distance, x / length, y / length, z / length, t


@kernel
def _out_of_box(a: tuple[float, ...], d: tuple[float, ...], h: tuple[float, ...]) -> Nearest:
    """Compute the shortest way out of the box for a segment that touches or intersects it."""
    depth, ux, uy, uz, t = math.inf, 0.0, 0.0, 1.0, 0.0
    square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
    for i in range(3):
        middle = a[i] + 0.5 * d[i]
        side = 1.0 if middle >= 0.0 else -1.0
        inside = h[i] + 0.5 * abs(d[i]) - side * middle
        if inside < depth:
            depth, t = inside, 0.0 if side * d[i] >= 0.0 else 1.0
            ux, uy, uz = side if i == 0 else 0.0, side if i == 1 else 0.0, side if i == 2 else 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        across = d[j] * d[j] + d[k] * d[k]
        if across > PARALLEL * square:
            length = math.sqrt(across)
            nj, nk = -d[k] / length, d[j] / length
            gap = a[j] * nj + a[k] * nk
            if gap < 0.0:
                nj, nk, gap = -nj, -nk, -gap
            inside = h[j] * abs(nj) + h[k] * abs(nk) - gap
            if inside < depth:
                depth = inside
                ux = 0.0 if i == 0 else (nj if j == 0 else nk)
                uy = 0.0 if i == 1 else (nj if j == 1 else nk)
                uz = 0.0 if i == 2 else (nj if j == 2 else nk)
                ej, ek = (h[j] if nj > 0.0 else -h[j]), (h[k] if nk > 0.0 else -h[k])
                t = min(max(((ej - a[j]) * d[j] + (ek - a[k]) * d[k]) / across, 0.0), 1.0)
    return -depth, ux, uy, uz, t
