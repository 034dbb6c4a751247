import json

result = json.load(open("result.json"))
print("configuration", {key: result["configuration"][key] for key in ("warmup_iterations", "measurement_trials", "exclude_first_trial", "enable_device_reinit")})
for trial in result["patterns"]["natural_for_loop_in"]["detailed_timings"]:
    print(trial["trial"], trial["phases"]["first_run"]["compile_outcome"], trial["phases"]["cached_run"]["compile_outcome"])
print(result["theoretical_analysis"]["natural_for_loop_in"]["why_they_differ"])
