-- Sends the requests of a file in turn, each as it is. "\1" in one stands for a key, which is new every time.
local requests, turn, prefix = {}, 0, ""
local thread
startedSeconds = 0

function setup(own)
  thread = own
end

function init(args)
  local file = assert(io.open(args[1], "rb"))
  for request in file:read("*a"):gmatch("[^%z]+") do
    requests[#requests + 1] = request
  end
  file:close()
  prefix = args[2]
  startedSeconds = os.clock()
end

function request()
  turn = turn + 1
  local text = requests[(turn - 1) % #requests + 1]
  return prefix == "" and text or (text:gsub("\1", prefix .. turn, 1))
end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.status + errors.connect + errors.read + errors.write + errors.timeout
  if failed > 0 then
    io.stderr:write(string.format("status %d, connect %d, read %d, write %d, timeout %d\n",
      errors.status, errors.connect, errors.read, errors.write, errors.timeout))
  end
  io.write(string.format(
    '\n{"requests":%d,"seconds":%f,"failed":%d,"cpuSeconds":%f,"latencyMs":{"p50":%f,"p99":%f,"max":%f}}\n',
    summary.requests, summary.duration / 1e6, failed, os.clock() - thread:get("startedSeconds"),
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3))
end
