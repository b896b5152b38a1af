// A signal is a pair of bands.
alias Value = vec2f;
alias Flags = vec2<bool>;
const WIDTH = 2u;

fn store(index: Value, to: u32, to_second: u32, has_second: bool) {
    result[to] = index.x;
    if has_second { result[to_second] = index.y; }
}
