-- Sends the requests of a file in turn, each as it is. "\1" in one stands for a key, which is new every time.
-- Arguments: the file, what keys begin with, requests a second (0 for as many as are answered), and for how many
-- seconds a quarter of them comes first, while connections are new.
local ffi = require("ffi")
ffi.cdef("typedef struct { long seconds, nanoseconds; } fx_time; int clock_gettime(int, fx_time *);")
local requests, turn, prefix = {}, 0, ""
local time, monotonic = ffi.new("fx_time"), 1
local thread
startedSeconds = 0

local function nowMs()
  ffi.C.clock_gettime(monotonic, time)
  return tonumber(time.seconds) * 1e3 + tonumber(time.nanoseconds) / 1e6
end

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
  local rate, warmMs = tonumber(args[3]), nowMs() + tonumber(args[4]) * 1e3
  if rate > 0 then
    -- Each connection is given the next time at which a request is due. Those that are due come whether or not others
    -- are answered, as long as there are connections that wait for their time.
    local dueMs = nowMs()
    function delay()
      local now = nowMs()
      dueMs = math.max(now, dueMs + (dueMs < warmMs and 4 or 1) * 1e3 / rate)
      return math.floor(dueMs - now)
    end
  end
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
