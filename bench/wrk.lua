-- Sends the requests of a file in turn, with "\1" replaced by a new idempotency key each time.
-- Arguments: the file, and a prefix of the keys.
local requests, turn, prefix = {}, 0, ""

function init(args)
  local file = assert(io.open(args[1], "rb"))
  for request in file:read("*a"):gmatch("[^%z]+") do
    requests[#requests + 1] = request
  end
  file:close()
  prefix = args[2]
end

function request()
  turn = turn + 1
  return (requests[(turn - 1) % #requests + 1]:gsub("\1", prefix .. turn, 1))
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"seconds":%f,"failed":%d,"p50Ms":%f,"p99Ms":%f,"longestMs":%f}\n',
    summary.requests, summary.duration / 1e6,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3))
end
