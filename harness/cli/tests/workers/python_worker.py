#!/usr/bin/env python3
"""A worker in plain Python, written from docs/protocol.md alone. It prints while it is measured, on purpose."""
import collections, hashlib, json, random, sys, time

def loop(words):
    print("counting in a loop")
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts

def counter(words):
    print("counting with Counter")
    return collections.Counter(words)

SIZES, FUNCTIONS = {"w1000": 1000, "w5000": 5000}, {"loop": loop, "counter": counter}
WORKLOAD = {
    "id": "word-count", "version": 1, "summary": "how often each word occurs in a text",
    "cases": [{"id": case, "items": {"count": size, "unit": "words"}} for case, size in SIZES.items()],
    "variants": [{"id": "loop", "role": "slow"}, {"id": "counter", "role": "optimized"}],
    "metrics": [{"id": "words", "unit": "count", "kind": "exact", "work": True}],
}
placements = {}  # handle -> [function, size, result of the last iteration]

def text(size, round_, index):
    return [f"w{n}" for n in random.Random(f"{seed}/{round_}/{index}").choices(range(size // 4), k=size)]

def digest(value):
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()

def sample(place, mode, round, offset, lead_in, iterations, **_):
    inputs = [text(place[1], round, index) for index in range(offset, offset + lead_in + iterations)]
    for words in inputs[:lead_in]:
        place[0](words)
    start, cpu = time.monotonic_ns(), time.process_time_ns()
    for words in inputs[lead_in:]:
        place[2] = place[0](words)
    wall, cpu = time.monotonic_ns() - start, time.process_time_ns() - cpu
    readings = {"words": place[1] * iterations} if mode == "metered" else {}
    return {"start_ns": start, "wall_ns": wall, "cpu_ns": cpu, "readings": readings}

def check(place, round, index, fresh, **_):
    words = text(place[1], round, index)
    if fresh:
        place[2] = place[0](words)
    right = {word: words.count(word) for word in set(words)}
    return {"passed": place[2] == right, "input": digest(words), "output": digest(sorted(place[2].items())),
            "readings": {"words": sum(place[2].values())}}

def answer(request):
    global seed
    op = request["op"]
    if op == "hello":
        seed = request["seed"]
        return {"protocol": 1, "modes": ["timed", "metered"], "clock_ns": time.monotonic_ns()}
    if op == "describe":
        return {"workloads": [WORKLOAD]}
    if op == "prepare":
        _, case, variant = request["benchmark"].split("/")
        placements[request["id"]] = [FUNCTIONS[variant], SIZES[case], None]
        return {"handle": request["id"]}
    if op in ("sample", "check"):
        place = placements[request.pop("handle")]
        return (sample if op == "sample" else check)(place, **request)
    return {}  # release and finish

for line in sys.stdin:
    request = json.loads(line)
    frame = {"perfharness": 1, "id": request["id"]}
    try:
        frame["ok"] = answer(request)
    except Exception as error:
        frame["error"] = {"code": "failed", "message": repr(error)}
    print(json.dumps(frame), flush=True)
