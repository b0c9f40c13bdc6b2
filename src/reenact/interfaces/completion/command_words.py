"""Each command with its arguments and options, and what kind of value each takes."""
# made by scripts/reference.py
# ruff: noqa: E501

WORDS = """
: --store= --json --no-pager --version --help -h
record: --agent=agent --user=user --tenant=tenant --session=session --tag=tag --order=exact|arrival|off| command --store= --json --no-pager --help -h
ls: --failed --agent=agent --user=user --tenant=tenant --session=session --tag=tag --since= --before= --where= -k= -n= --tree --cold --explain --store= --json --no-pager --help -h
show: run --all --state --oneline --tree --judge= --live --store= --json --no-pager --help -h
cat: run --headers --hex --curl --python --store= --json --no-pager --help -h
flag: run text --store= --json --no-pager --help -h
tag: run tag* --store= --json --no-pager --help -h
mark: text --rev= --at= --rm= --store= --json --no-pager --help -h
timeline: run --at= --changed= --last-set= --watch= --store= --json --no-pager --help -h
replay: run --events --through=tool --live=tool --order= --on-divergence=stop|observe| --rev= --cmd= --entry= --sources --save -v --verbose --store= --json --no-pager --help -h
resume: run --settle=done|retry| --result= --cmd= --entry= --store= --json --no-pager --help -h
fork: run --set= --result= --say= --error= --input= --prompt= --model= --param= --flag= --at-time= --rev= --live=reads|all|model|none| --allow-write=tool --settle=done|retry| --dry-run --cmd= --entry= --store= --json --no-pager --help -h
diff: run* --stat --state --text --store= --json --no-pager --help -h
resend: run --model= --prompt= --param= --n= --to= --key-env= --check --dry-run --store= --json --no-pager --help -h
golden: --store= --json --no-pager --help -h
golden add: run --as= --about= --expected= --expect= --holds= --fixed=run --on-miss=fail|live-read|scripted| --answer= --cmd= --entry= --no-test --force --store= --json --no-pager --help -h
golden ls: golden* --history --store= --json --no-pager --help -h
golden run: golden* --mode=frozen|missing|rerecord|review| --accept= --accept-all= --live=model| --rev= --mark= --repeat= --at-least= -j= --workers= --report=file --store= --json --no-pager --help -h
golden drift: golden* -j= --workers= --store= --json --no-pager --help -h
golden rm: golden --store= --json --no-pager --help -h
experiment: golden* --where= --session=session --since= --before= --mark= --candidate= --expect= --repeat= --threshold= -j= --workers= --on= --cmd= --entry= --fresh --store= --json --no-pager --help -h
kit: run --budget --failed --agent=agent --user=user --tenant=tenant --session=session --tag=tag --since= --before= --where= -k= --store= --json --no-pager --help -h
triage: --group= -n= --zone= --markdown --candidate= --all --healthy= --expect= --repeat= -j= --workers= --cmd= --entry= --fresh --dry-run --failed --agent=agent --user=user --tenant=tenant --session=session --tag=tag --since= --before= --where= -k= --store= --json --no-pager --help -h
pack: run -o=file --output=file --no-check --store= --json --no-pager --help -h
unpack: file --store= --json --no-pager --help -h
import: vcr|har|json|inspect|langfuse|langsmith|messages|otlp|claude-code|openai|anthropic|bedrock|evals|vertex|mlflow| file --only= --url= --param= --agent=agent --tag=tag --dry-run --store= --json --no-pager --help -h
export: vcr|har|json|evals|otel|markdown| run text -o=file --output=file --content=reference|inline| --dialect=otel|otel-before|openinference| --store= --json --no-pager --help -h
serve: --bind= --grpc= --token-env= --store= --json --no-pager --help -h
textconv: file --git --store= --json --no-pager --help -h
gc: --dry-run --store= --json --no-pager --help -h
fsck: --store= --json --no-pager --help -h
salvage: text -o=file --output=file --store= --json --no-pager --help -h
migrate: --dry-run --no-backup --store= --json --no-pager --help -h
stats: --by=agent|tenant|day|class|user|session|status|route|mark| --failed --agent=agent --user=user --tenant=tenant --session=session --tag=tag --since= --before= --where= -k= --store= --json --no-pager --help -h
doctor: --store= --json --no-pager --help -h
config: --store= --json --no-pager --help -h
init: --completion=bash|zsh|fish|| --store= --json --no-pager --help -h
demo: --store= --json --no-pager --help -h
"""
