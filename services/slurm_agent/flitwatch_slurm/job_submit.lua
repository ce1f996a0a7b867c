-- job_submit.lua next to slurm.conf, with JobSubmitPlugins=lua. If the site already has one, add the block to its slurm_job_submit.

local loaded, flitwatch = pcall(dofile, "/etc/slurm/flitwatch.lua")
if not loaded then
  slurm.log_info("flitwatch: no advice: %s", tostring(flitwatch))
  flitwatch = nil
end
-- To change settings of flitwatch.lua, for example: flitwatch.exclude = true, flitwatch.path = "/run/flitwatch/advice"

function slurm_job_submit(job_desc, part_list, submit_uid)
  if flitwatch then flitwatch.submit(job_desc, part_list, submit_uid) end
  return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  return slurm.SUCCESS
end

return slurm.SUCCESS
