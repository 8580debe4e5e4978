"""prototype"""
from __future__ import annotations
import numpy as np

LEVER = 0.1
MASSF = 0.4
GUESS = 0.5
FORGET = 0.2
ERR = 0.3
FRAC = 0.05
CORR = 6.0
LATE = 1.0
SWAY = 0.3
FADES = 0.2
MAXC = 0.25
SPH = 0.05


def skew(b):
    return np.array([[0, -b[2], b[1]], [b[2], 0, -b[0]], [-b[1], b[0], 0.0]])


def dot(w):  # I w = dot(w) [xx yy zz xy xz yz]
    return np.array([[w[0], 0, 0, w[1], w[2], 0], [0, w[1], 0, w[0], 0, w[2]], [0, 0, w[2], 0, w[0], w[1]]])


class ToolLoad:
    def __init__(self, model, limits, period):
        self._model, self._limits = model, limits
        self._period = period
        mass = sum(i.mass for i in model._model.inertias[1:])
        m = MASSF * mass
        self.prior = 1.0 / np.array([m] + 3 * [m * LEVER] + 6 * [m * LEVER**2]) ** 2
        g = min(np.linalg.norm(model.gravity) / 9.81, 1.0)
        m = GUESS * m * g
        self.first = np.array([m, 0, 0, 0] + 3 * [m * SPH**2] + 3 * [0.0])
        self.reset()

    def reset(self):
        self.mean = self.first
        self.info = np.diag(self.prior)
        self.eta = np.zeros(10)
        self.theta = self.mean
        self.shape()

    def observe(self, state, extra, z, H, dt, changed):
        model = self._model
        kin = model.tool_kinematics(state, model.world_frame)
        J, R = kin.J_m, kin.rotation
        v, w = J[:3], J[3:]
        lacking, base, sway = extra - H @ z, np.zeros(6), 0.0
        if model.m and (state.deflection.any() or state.deflection_rate.any()):
            blocks = model.blocks(state)
            xdd = model.base_acceleration(blocks, state, z)
            push = blocks.H_bm.T @ xdd
            lacking, base, sway = extra - blocks.H_m @ z - push, kin.J_b @ xdd, SWAY * push
        b = R.T @ (v @ z + base[:3] + kin.dJ_v[:3] - model.gravity)
        al = R.T @ (w @ z + base[3:] + kin.dJ_v[3:])
        om = R.T @ kin.velocity[3:]
        vt, wt = R.T @ v, R.T @ w
        Y = np.zeros((6, 10))
        Y[:3, 0] = b
        Y[:3, 1:4] = skew(al) + skew(om) @ skew(om)
        Y[3:, 1:4] = -skew(b)
        Y[3:, 4:] = dot(al) + skew(om) @ dot(om)
        self.J = np.vstack((vt, wt))
        A = self.J.T @ Y
        err = ERR * np.diag(H) * self._limits.acceleration * 0.1 + FRAC * np.abs(model.gravity_effort(state)) + np.minimum(self._limits.friction, 1e9)
        W = 1.0 / (CORR * (err**2 + LATE * changed**2 + sway**2))
        k = np.exp(-dt / FORGET)
        self.mean = self.mean * np.exp(-dt / FADES)
        self.info = np.diag(self.prior) + k * (self.info - np.diag(self.prior)) + (A.T * W) @ A
        self.eta = k * self.eta + A.T @ (W * lacking)
        s = 1.0 / np.sqrt(self.prior)
        self.theta = s * np.linalg.solve(s[:, None] * self.info * s, s * (self.eta + self.prior * self.mean))
        self.shape()

    def shape(self):
        t = self.theta
        m = max(t[0], 0.0)
        if m <= 0.0:
            self.M = np.zeros((6, 6)); self.mass = 0.0
            return
        c = t[1:4] / m
        d = np.linalg.norm(c)
        if d > MAXC:
            c = c * MAXC / d
        C = skew(c)
        I = np.array([[t[4], t[7], t[8]], [t[7], t[5], t[9]], [t[8], t[9], t[6]]])
        Ic = I + m * C @ C
        i = min(max(np.trace(Ic) / 3.0, 0.0), m * SPH**2)
        self.M = np.block([[m * np.eye(3), -m * C], [m * C, -m * C @ C + i * np.eye(3)]])
        self.mass, self.c = m, c

    def see(self, state):
        kin = self._model.tool_kinematics(state, self._model.world_frame)
        R = kin.rotation
        self.J = np.vstack((R.T @ kin.J_m[:3], R.T @ kin.J_m[3:]))

    def inertia(self):
        return self.J.T @ self.M @ self.J
