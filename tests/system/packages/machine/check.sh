#!/bin/bash
# Runs inside the virtual machine, as root, under its systemd. Each line that begins with "ok" or "not ok" is a result.
# shellcheck source-path=SCRIPTDIR
. /packages/checks.sh
export HOME=/root
cd /

old=$(ls /packages/old/*.deb) new=$(ls /packages/new/*.deb)
check 'the machine has control groups of version 2 with limits' grep -q 'memory.*pids' /sys/fs/cgroup/cgroup.controllers

# shellcheck disable=SC2086
check 'dpkg installs the three packages' dpkg -i $old
for name in selvedge selvedge-identity selvedge-discovery; do
	check "$name runs after its installation" eventually active $name
	check "$name starts with the machine" is "$(systemctl is-enabled $name)" enabled
	check "$name runs as its own user" is "$(ps -o user:30= -p "$(systemctl show -P MainPID $name)" | tr -d ' ')" $name
	echo "info $name: $(systemd-analyze security --no-pager $name.service 2>/dev/null | tail -n 1)"
done
check 'root reaches the runtime' matches "$(node_id)" '^[0-9a-f]{56}$'
first=$(node_id)
useradd --groups selvedge member && useradd stranger
check 'a member of the group reaches it' is "$(setpriv --reuid=member --regid=member --init-groups env HOME=/tmp selvedge me --json | field nodeId)" "$first"
check 'another user does not reach its socket' eval '! setpriv --reuid=stranger --regid=stranger --init-groups curl -sf --unix-socket /run/selvedge/runtime.sock http://localhost/'
check 'functions get namespaces, a user and a control group without root' matches "$(selvedge doctor --json | tr -d '\n')" 'namespaces, unprivileged user, cgroup v2'

check "the operator's command makes an account" selvedge-admin account create --email you@example.com --if-none
client=$(selvedge-admin project create --name demo --json | field clientId)
selvedge-admin token developer --client-id "$client" --out /root/developer-token
check 'the device joins the account' selvedge account associate --developer-token-file /root/developer-token --client-id "$client"
account=$(selvedge me --json | field accountId)
for time in first second; do
	install -m 600 /dev/null /etc/selvedge/join-key
	# As the runtime leaves it when it has joined.
	setpriv --reuid=selvedge --regid=selvedge --clear-groups touch /var/lib/selvedge/runtime/joined
	check "the join key is removed at once, the $time time" eventually eval '[ ! -e /etc/selvedge/join-key ] && [ ! -e /var/lib/selvedge/runtime/joined ]'
done
make_counter
token=(--developer-token-file /root/developer-token --client-id "$client")
check 'a function is packed' selvedge image pack /root/hello -o /root/hello.tar
check 'a function is deployed' selvedge image deploy /root/hello.tar "${token[@]}"
check 'a function runs' selvedge container deploy --name hello --image hello --env MCM.ACCESS=public --env MCM.BASE_API_PATH=/hello "${token[@]}"
call() { curl -sS "http://127.0.0.1:8083/$client/hello/$1"; }
check 'a function answers' is "$(call x)" 'call 1'
group=$(find /sys/fs/cgroup/system.slice/selvedge.service -mindepth 3 -name memory.max | head -n 1)
check 'the kernel limits its memory' matches "$(cat "$group")" '^[0-9]+$'
check 'the kernel limits its processes' matches "$(cat "${group%/*}/pids.max")" '^[0-9]+$'
echo "info limits of a function: memory $(cat "$group"), processes $(cat "${group%/*}/pids.max"), processor $(cat "${group%/*}/cpu.max")"
call grow >/dev/null
check 'a function that uses too much memory ends, and the runtime continues' is "$(node_id)" "$first"
check 'the function is started again' eventually eval 'call x | grep -q call'

# shellcheck disable=SC2086
check 'an upgrade replaces the packages' dpkg -i $new
check 'the runtime runs after the upgrade' eventually active selvedge
check 'the upgrade keeps the node' is "$(node_id)" "$first"
check 'the upgrade keeps the account' is "$(selvedge me --json | field accountId)" "$account"
eventually call x
check 'the upgrade keeps the function and its storage' matches "$(call x)" '^call [3-9]$'

main=$(systemctl show -P MainPID selvedge)
kill -KILL "$main"
check 'a killed runtime is started again' eventually eval '[ "$(systemctl show -P MainPID selvedge)" != '"$main"' ] && systemctl is-active selvedge'
cp /etc/selvedge/runtime.json /root/runtime.json
echo '{ "runtime": { "unknown": 1 } }' >/etc/selvedge/runtime.json
check 'a wrong setting fails the start' eval '! systemctl restart selvedge'
check 'and is not tried again and again' is "$(systemctl show -P ActiveState selvedge) $(systemctl show -P NRestarts selvedge)" 'failed 0'
check 'the log names it' eval "journalctl -u selvedge -n 20 --no-pager | grep -q 'unknown option \"unknown\"'"
cp /root/runtime.json /etc/selvedge/runtime.json
check 'the corrected setting starts it' systemctl restart selvedge

check 'remove stops the runtime' dpkg --remove selvedge
check 'remove ends every process of it' eval '! pgrep -u selvedge'
check 'remove keeps the state' test -s /var/lib/selvedge/runtime/node-key.json
check 'remove keeps the settings' test -s /etc/selvedge/runtime.json
# shellcheck disable=SC2086
check "the package is installed again" dpkg -i $(ls /packages/new/selvedge_*.deb)
check 'it is the same node' is "$(eventually node_id >/dev/null; node_id)" "$first"
check 'purge removes the package' dpkg --purge selvedge selvedge-identity selvedge-discovery
check 'purge removes the state' eval '[ ! -e /var/lib/selvedge ] && [ ! -e /var/lib/selvedge-identity ]'
check 'purge removes the settings' test ! -e /etc/selvedge
check 'purge leaves no unit behind' eval '! systemctl list-unit-files | grep -q selvedge'

# shellcheck source-path=SCRIPTDIR
. /packages/upgrade.sh
echo 'info end'
