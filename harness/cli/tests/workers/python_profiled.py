#!/usr/bin/env python3
"""A worker in plain Python that takes profiled samples, written from docs/protocol.md alone: a thread looks where the
other one is, every millisecond."""
import collections, json, sys, threading, time

PERIOD = 0.001
WORKLOAD = {"id": "naps", "version": 1, "cases": [{"id": "c"}], "variants": [{"id": "nap"}]}

def wait_a_little():
    time.sleep(0.01)

def nap():
    wait_a_little()

def frames(frame):
    names = []
    while frame and frame.f_code.co_name != "iterate":
        names.insert(0, frame.f_code.co_name)
        frame = frame.f_back
    return tuple(names) if frame else ()

class Profiler(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.of, self.met, self.looking = threading.get_ident(), collections.Counter(), True

    def run(self):
        while self.looking:
            time.sleep(PERIOD)
            self.met[frames(sys._current_frames()[self.of])] += 1

    def profile(self, wall):
        self.looking = False
        self.join()
        stacks = [{"frames": list(names), "count": count} for names, count in self.met.items() if names]
        looks = sum(self.met.values())
        return {"period": wall / looks if looks else PERIOD * 1e9, "clock": "wall", "stacks": stacks}

def iterate(iterations):
    for _ in range(iterations):
        nap()

def sample(mode, lead_in, iterations, **_):
    iterate(lead_in)
    profiler = Profiler() if mode == "profiled" else None
    if profiler:
        profiler.start()
    start = time.monotonic_ns()
    iterate(iterations)
    answer = {"wall_ns": time.monotonic_ns() - start}
    if profiler:
        answer["profile"] = profiler.profile(answer["wall_ns"])
    return answer

def answer(request):
    op = request["op"]
    if op == "hello":
        return {"protocol": 1, "modes": ["timed", "profiled"]}
    if op == "describe":
        return {"workloads": [WORKLOAD]}
    if op == "prepare":
        return {"handle": 1}
    if op == "check":
        return {"passed": True}
    return sample(**request) if op == "sample" else {}

for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"perfharness": 1, "id": request["id"], "ok": answer(request)}), flush=True)
