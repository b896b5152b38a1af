#!/usr/bin/env python3
"""A worker in plain Python, written from docs/protocol.md alone. It prints to stdout while measured, on purpose."""
import collections, hashlib, itertools, json, platform, random, sys, time

class Fault(Exception): pass  # (code, message) of an error answer
class Request(dict):
    def __missing__(self, key): raise Fault("bad-request", f"the request has no {key!r}")

def loop(index, words):
    print("counting", index)
    counts = {}
    for word in words: counts[word] = counts.get(word, 0) + 1
    return counts

def counter(index, words):
    print("counting", index)
    return collections.Counter(words)

CASES, VARIANTS = {"w1000": 1000, "w5000": 5000}, {"loop": (loop, "slow"), "counter": (counter, "optimized")}
BENCHMARKS = {f"word-count/{c}/{v}": (size, run) for c, size in CASES.items() for v, (run, _) in VARIANTS.items()}
WORKLOAD = {"id": "word-count", "version": 1, "summary": "how often each word occurs in a text",
    "cases": [{"id": c, "params": {"words": n}, "items": {"count": n, "unit": "words"}} for c, n in CASES.items()],
    "variants": [{"id": v, "role": role} for v, (_, role) in VARIANTS.items()],
    "metrics": [{"id": m, "unit": "count", "kind": "exact", "direction": "neutral", "portability": "portable",
                 "work": m == "words"} for m in ("words", "dict-entries")]}
seed, handles, placements = None, itertools.count(1), {}  # handle -> {"size", "run", "left": ((round, index), result)}

def text(size, round_, index):
    return [f"w{n}" for n in random.Random(f"{seed}/{round_}/{index}").choices(range(size // 4), k=size)]

def digest(value): return hashlib.sha256(json.dumps(value).encode()).hexdigest()

def sample(place, mode, round_, offset, lead_in, iterations):
    if mode not in ("timed", "metered"): raise Fault("unsupported", f"no mode {mode!r}")
    if iterations < 1: raise Fault("bad-request", "a sample has at least one iteration")
    run, metered, words, entries = place["run"], mode == "metered", 0, 0
    inputs = [(i, text(place["size"], round_, i)) for i in range(offset, offset + lead_in + iterations)]
    for i, made in inputs[:lead_in]: run(i, made)
    measured = inputs[lead_in:]
    cpu, start = time.process_time_ns(), time.monotonic_ns()
    for i, made in measured:
        result = run(i, made)
        if metered: words, entries = words + sum(result.values()), entries + len(result)
    wall, cpu = time.monotonic_ns() - start, time.process_time_ns() - cpu
    place["left"] = ((round_, i), result)
    return {"wall_ns": wall, "start_ns": start, "cpu_ns": cpu,
            "readings": {"words": words, "dict-entries": entries} if metered else {}}

def check(place, round_, index, fresh):
    words = text(place["size"], round_, index)
    at, result = ((round_, index), place["run"](index, words)) if fresh else place["left"]
    if at != (round_, index): raise Fault("bad-request", f"the last sample left {at}, not {(round_, index)}")
    right = {w: len(list(group)) for w, group in itertools.groupby(sorted(words))}
    error = max(abs(result.get(w, 0) - right.get(w, 0)) for w in {*result, *right})
    return {"passed": result == right, "error": error, "tolerance": 0, "input": digest(words),
            "output": digest(sorted(result.items())), "readings": {"words": sum(result.values())} if fresh else {}}

def answer(r):
    global seed
    if r["op"] == "hello":
        if 1 not in r["protocols"]: raise Fault("unsupported-protocol", "this worker speaks version 1")
        seed = r["seed"]
        return {"protocol": 1, "worker": "python_worker 1", "modes": ["timed", "metered"],
                "clock_ns": time.monotonic_ns(), "facts": {"python": platform.python_version()}}
    if r["op"] == "describe": return {"workloads": [WORKLOAD]}
    if r["op"] == "finish": return {}
    if r["op"] == "prepare":
        if r["benchmark"] not in BENCHMARKS: raise Fault("bad-request", f"no benchmark {r['benchmark']!r}")
        handle, (size, run) = next(handles), BENCHMARKS[r["benchmark"]]
        placements[handle] = {"size": size, "run": run, "left": (None, None)}
        return {"handle": handle}
    if r["op"] not in ("sample", "check", "release"): raise Fault("unsupported", f"no op {r['op']!r}")
    if r["handle"] not in placements: raise Fault("bad-request", f"no handle {r['handle']!r}")
    if r["op"] == "release": return placements.pop(r["handle"]) and {}
    place = placements[r["handle"]]
    if r["op"] == "check": return check(place, r["round"], r["index"], r["fresh"])
    return sample(place, r["mode"], r["round"], r["offset"], r["lead_in"], r["iterations"])

for line in sys.stdin.buffer:
    request = Request()
    try:
        request = Request(json.loads(line))
        reply = {"ok": answer(request)}
    except Fault as fault: reply = {"error": dict(zip(("code", "message"), fault.args))}
    except (ValueError, TypeError) as e: reply = {"error": {"code": "bad-request", "message": repr(e)}}
    except MemoryError: reply = {"error": {"code": "out-of-memory", "message": "memory ran out"}}
    except Exception as e: reply = {"error": {"code": "failed", "message": repr(e)}}
    # The prints above went through the same buffer and end in "\n", so the frame is a line of its own.
    print(json.dumps({"perfharness": 1, "id": request.get("id"), **reply}), flush=True)
    if request.get("op") == "finish": break
