-- Sends searches for a given time and then waits for those in flight, so that every search the server received is
-- counted. The charges are compared with this count.
--
--   wrk ... -- KEYS_FILE MILLISECONDS CONNECTIONS NAME WITH_IDEMPOTENCY_KEYS PATH BODY HEADER_LINES
--
-- Keys are used in rotation. NAME is the prefix of each Idempotency-Key and must be unique per run.

local ffi = require("ffi")
ffi.cdef([[
  typedef struct { long seconds; long nanoseconds; } pennyblack_time;
  int clock_gettime(int clock, pennyblack_time *time);
  int kill(int pid, int signal);
  int getpid(void);
]])

local monotonic, interrupt, parked_ms = 1, 2, 3600000
local time = ffi.new("pennyblack_time")
local heads, tail = {}, nil
local next_head, sent, parked = 0, 0, 0
local started_ms, run_ms, connections, name, has_claims

local function now_ms()
  ffi.C.clock_gettime(monotonic, time)
  return tonumber(time.seconds) * 1000 + tonumber(time.nanoseconds) / 1000000
end

function init(args)
  run_ms, connections, name, has_claims = tonumber(args[2]), tonumber(args[3]), args[4], args[5] == "true"
  local path, body, lines = args[6], args[7], args[8] or ""
  for key in io.lines(args[1]) do
    heads[#heads + 1] = "POST " .. path .. " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\nAuthorization: Bearer " .. key
      .. "\r\nContent-Type: application/json\r\nContent-Length: " .. #body .. "\r\n" .. lines
  end
  tail = "\r\n" .. body
  -- Start at a random wallet.
  math.randomseed(now_ms())
  next_head = math.random(#heads)
end

function request()
  next_head = next_head % #heads + 1
  if not has_claims then return heads[next_head] .. tail end
  sent = sent + 1
  return heads[next_head] .. "Idempotency-Key: " .. name .. "-" .. sent .. "\r\n" .. tail
end

-- wrk calls this before each request to get a delay. When the time is up, each connection is parked; when all are parked,
-- SIGINT ends the run.
function delay()
  local now = now_ms()
  started_ms = started_ms or now
  if now < started_ms + run_ms then return 0 end
  parked = parked + 1
  if parked == connections then ffi.C.kill(ffi.C.getpid(), interrupt) end
  return parked_ms
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"answers":%d,"failed":%d,"timedOut":%d,"disconnected":%d,"meanMs":%.3f,"p50Ms":%.3f,"p99Ms":%.3f}\n',
    summary.requests, errors.status, errors.timeout, errors.connect + errors.read + errors.write,
    latency.mean / 1000, latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
