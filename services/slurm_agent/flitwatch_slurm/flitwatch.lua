-- Advice for a submitted job, from a file that `flitwatch agent slurm` updates. Runs inside slurmctld, under its locks: it opens only one
-- small local file and executes nothing in it. After any problem, it lets the job through unchanged: a missing, old, corrupt, foreign or
-- too long file, an unknown application, or an internal error.
-- Lua 5.1 to 5.4. Usage: see job_submit.lua next to this file, and docs/scheduler.md.

local M = {
  path = "/var/lib/flitwatch/slurm/advice",
  most_bytes = 1048576, -- longer files are not read
  oldest_s = 300,       -- older files are not used, whatever limit they contain
  most_delay_s = 3600,  -- longest delay of a job by one answer
  exclude = false,      -- true: exclude the worse nodes if the nodes have no features to prefer
  tell_users = true,    -- print the reason on the submitter's terminal
}

local HEAD = "^flitwatch%-advice 1 (%d+) (%d+) (%d+) (%d+)\n"
local MOST_COMMENT = 1024 -- bytes; Slurm refuses a job with a longer admin comment
local ACTIONS = { start = true, delay = true, prefer = true }

local function number(text)
  local value = text:match("^%d+%.?%d*$") and tonumber(text)
  if value and value >= 0 and value < 1e12 then return value end
end

local function plain(text, pattern)
  return #text <= 65536 and text:match(pattern) and text or nil
end

local function unescape(text)
  return (text:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

-- Return the content of a regular file that is not too long, or nil and the reason. The file is opened for update, so that a pipe or
-- device in its place cannot block slurmctld. A file that the Slurm user cannot write was not written by its agent.
local function content()
  local file = io.open(M.path, "r+b")
  if not file then return nil, "cannot be opened for update by this user" end
  local size = file:seek("end")
  if not size or size < 1 or size > M.most_bytes or not file:seek("set", 0) then
    file:close()
    return nil, "is not a regular file of at most " .. M.most_bytes .. " bytes"
  end
  local text = file:read(size)
  file:close()
  if not text or #text ~= size then return nil, "changed while it was read" end
  return text
end

local function checksum(text)
  local a, b = 1, 0 -- Adler-32
  local at, size = 1, #text
  while at <= size do
    local last = math.min(at + 2047, size)
    while at <= last do
      local stop = math.min(at + 127, last)
      for _, byte in ipairs({ text:byte(at, stop) }) do
        a = a + byte
        b = b + a
      end
      at = stop + 1
    end
    a, b = a % 65521, b % 65521
  end
  return b * 65536 + a
end

-- application \t user|* \t nodes \t action \t retry_s \t usual_s \t slowdown \t features \t nodes to avoid \t free nodes by partition \t reason
local function entry(line)
  local f = {}
  for field in (line .. "\t"):gmatch("(.-)\t") do f[#f + 1] = field end
  if #f ~= 11 then return nil end
  local made = {
    application = plain(f[1], "^[%w_.%%+-]+$"), user = plain(f[2], "^[%w_.%%+*-]+$"), nodes = number(f[3]), action = ACTIONS[f[4]] and f[4],
    retry_s = number(f[5]), usual_s = number(f[6]), slowdown = number(f[7]), features = plain(f[8], "^[%w_.|-]*$"),
    avoid = plain(f[9], "^[%w_.,%[%]-]*$"), free_nodes = plain(f[10], "^[%w_.,=%%*-]*$"), reason = plain(f[11], "^[%w_.%%+ -]*$"),
  }
  for _, name in ipairs({ "application", "user", "nodes", "action", "retry_s", "usual_s", "slowdown", "features", "avoid", "free_nodes", "reason" }) do
    if not made[name] then return nil end
  end
  made.reason = unescape(made.reason):gsub("[%c\"]", " "):sub(1, 300)
  return made
end

local held = { head = nil, entries = nil }

-- Return the entries by application, or nil and the reason.
function M.read(now)
  local text, why = content()
  if not text then return nil, why end
  local written, limit_s, count, sum = text:match(HEAD)
  if not written then return nil, "does not begin as an advice file" end
  local age = now - tonumber(written)
  if age < -60 then return nil, "was written in the future" end
  if age > math.min(tonumber(limit_s), M.oldest_s) then return nil, string.format("is %d s old", age) end
  local first = text:find("\n", 1, true)
  local head = text:sub(1, first)
  if held.head == head then return held.entries end
  local body = text:sub(first + 1)
  if checksum(body) ~= tonumber(sum) then return nil, "does not have the bytes that were written" end
  local entries, seen = {}, 0
  for line in body:gmatch("([^\n]*)\n") do
    local one = entry(line)
    if not one then return nil, "has a line that cannot be read" end
    local key = unescape(one.application)
    entries[key] = entries[key] or {}
    table.insert(entries[key], one)
    seen = seen + 1
  end
  if seen ~= tonumber(count) then return nil, "has other lines than were written" end
  held.head, held.entries = head, entries
  return entries
end

-- Return the job's application (`flitwatch_app=NAME` in its comment, else its name), and whether the user declines advice.
local function asked(job)
  local comment = type(job.comment) == "string" and job.comment or ""
  local name = (" " .. comment):match("[%s,;]flitwatch_app=([%w_.+-]+)")
  return name or (type(job.name) == "string" and job.name) or nil, (" " .. comment):match("[%s,;]flitwatch=off") ~= nil
end

-- Return the entry for a job: its user's before those for all users, with the nearest size within a factor of two.
function M.find(entries, application, user, nodes)
  local best, rank
  for _, one in ipairs(entries[application] or {}) do
    local own = unescape(one.user) == user
    if (own or one.user == "*") and one.nodes >= nodes / 2 and one.nodes <= nodes * 2 then
      local order = math.abs(one.nodes - nodes) + (own and 0 or 0.5)
      if not rank or order < rank then best, rank = one, order end
    end
  end
  return best
end

local function known(value)
  return type(value) == "number" and value > 0 and value < (slurm.NO_VAL or 4294967294)
end

local function delay(job, one, now)
  local wait_s = math.floor(math.min(one.retry_s, M.most_delay_s))
  if wait_s < 1 then return nil end
  if known(job.deadline) and now + wait_s + one.usual_s > job.deadline then return nil end
  -- Keep a later time that the user requested.
  if known(job.begin_time) and job.begin_time >= now + wait_s then return nil end
  job.begin_time = now + wait_s
  return string.format("not before %d s from now", wait_s)
end

-- Return whether the user set constraints that a preference could contradict. Slurm 22.05 refuses a job if its preferred nodes are
-- unsuitable, and otherwise drops its constraints.
local OWN = { "features", "prefer", "req_nodes", "exc_nodes", "reservation", "gres", "tres_per_node", "tres_per_socket", "tres_per_task", "tres_per_job" }
local SIZES = { "pn_min_memory", "min_mem_per_node", "min_mem_per_cpu", "pn_min_tmp_disk", "pn_min_cpus" }

-- An unset value is NO_VAL with 16, 32 or 64 bits.
local function has_own_wishes(job)
  for _, name in ipairs(OWN) do
    if type(job[name]) == "string" and job[name] ~= "" then return true end
  end
  for _, name in ipairs(SIZES) do
    local value = job[name]
    if type(value) == "number" and value > 0 and value < 1.8e19 and value ~= slurm.NO_VAL and value ~= 65534 then return true end
  end
  return false
end

-- Return the number of usable preferred nodes in the job's partition; none if it names several.
local function free_nodes(job, one)
  local wanted = type(job.partition) == "string" and job.partition or "*"
  for name, count in one.free_nodes:gmatch("([^,=]+)=(%d+)") do
    if (name == "*" and name or unescape(name)) == wanted then return tonumber(count) end
  end
  return 0
end

local function prefer(job, one)
  if has_own_wishes(job) or free_nodes(job, one) < math.max(job.min_nodes, known(job.max_nodes) and job.max_nodes or 0) then return nil end
  if one.features ~= "" then
    job.prefer = one.features
    return "prefers " .. one.features
  end
  if M.exclude and one.avoid ~= "" then
    job.exc_nodes = one.avoid
    return "without " .. one.avoid
  end
end

-- Convert a user's text to one log line: a line feed in a job's name would start a forged line.
local function in_a_line(text)
  return (tostring(text):gsub("%c", "?"):sub(1, 200))
end

-- Return the admin comment with our mark after other plugins' text, or nil if it is too long for Slurm.
local function with_mark(comment, action, now, why)
  local before = type(comment) == "string" and comment ~= "" and comment .. " " or ""
  local mark = string.format("[flitwatch %s since=%d", action, now)
  for _, text in ipairs({ before .. mark .. " " .. why:gsub("[%[%]]", " ") .. "]", before .. mark .. "]" }) do
    if #text <= MOST_COMMENT then return text end
  end
end

local function decide(job, user_name)
  local now = os.time()
  local application, off = asked(job)
  if off or not application or not known(job.min_nodes) then return end
  local entries, why = M.read(now)
  if not entries then
    slurm.log_info("flitwatch: no advice: %s %s", M.path, why)
    return
  end
  local one = M.find(entries, application, user_name, job.min_nodes)
  if not one then return end
  -- Without our mark, the origin of the change would be unknown later.
  if not with_mark(job.admin_comment, one.action, now, "") then
    slurm.log_info("flitwatch: no advice: the admin comment of another tool leaves no place for a mark")
    return
  end
  local done
  if one.action == "delay" then done = delay(job, one, now) end
  if one.action == "prefer" then done = prefer(job, one) end
  if not done then return end
  local why = string.format("%s: %s", done, one.reason)
  job.admin_comment = with_mark(job.admin_comment, one.action, now, why)
  slurm.log_info("flitwatch: %s of %s: %s since=%d %s", in_a_line(application), in_a_line(user_name), one.action, now, why)
  if M.tell_users then slurm.log_user("flitwatch: %s (%s)", done, one.reason) end
end

-- Apply advice to a submitted job. Never fails: errors are logged, and the job is let through.
function M.submit(job_desc, part_list, submit_uid)
  local fine, problem = pcall(function()
    local user = type(job_desc.user_name) == "string" and job_desc.user_name or nil
    decide(job_desc, user)
  end)
  if not fine then pcall(slurm.log_info, "flitwatch: no advice: %s", tostring(problem)) end
end

return M
