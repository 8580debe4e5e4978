import sys
import flexarm_tools.faults.arms as A
import flexarm_tools.faults.core_case as C
from flexarm_tools.faults.kinds import *
seed=int(sys.argv[1]); names=chosen_kinds(sys.argv[2].split(',') if sys.argv[2]!='all' else [])
for me,fs in ((.1,5.),(0.0,5.),(.1,0.0),(0.,0.)):
    A.MASS_ERROR,A.RUBBING=me,fs
    s,f=draw_case(seed,names,core=True)
    print(me,fs,C.Case(s,f).run().line())
