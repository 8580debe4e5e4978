import numpy as np, dataclasses
import flexarm_tools.faults.core_case as C
from flexarm_tools.faults.kinds import *
from flexarm_core.types import ArmState
s,f=draw_case(8,chosen_kinds(['none','single_loss','jitter']),core=True)
c=C.CoreCase(s,[KINDS["none"](np.random.default_rng(1),.7)])
m=c.arm.model; q=c._source.start; z=np.zeros(3); zb=np.zeros(1)
b=m.blocks(ArmState(0,q,z,zb,zb))
print("q",q,"H_b",b.H_b,"H_bm",b.H_bm,"K",m.K_b,"D",m.D_b, "eff", b.H_b-b.H_bm@np.linalg.solve(b.H_m,b.H_bm.T), "freq locked",np.sqrt(m.K_b/b.H_b),"freq free",np.sqrt(m.K_b/(b.H_b-b.H_bm@np.linalg.solve(b.H_m,b.H_bm.T))))
print("Lambda eig",np.linalg.eigvalsh(b.H_m-b.H_bm.T@np.linalg.solve(b.H_b,b.H_bm)),"Hm eig",np.linalg.eigvalsh(b.H_m), m.lower,m.upper)
orig=c._drive.advance; k=[0]
def adv(d):
    k[0]+=1
    if k[0]<60 and k[0]%2==0:
        x=c.backend.sensed(); print("%.3f"%c._now, np.round(x.velocity,3), "xb",np.round(x.deflection,5), np.round(x.deflection_rate,4),"u", None if c._drive._command is None else np.round(c._drive._command,1), c.gate.gate.status.limited)
    orig(d)
c._drive.advance=adv
c.run()
