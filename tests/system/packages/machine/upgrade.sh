#!/bin/bash
# The tarballs, in the virtual machine: the services by hand, the runtime with "service install", and upgrades of it.

# The steps of docs/devices.md.
for name in identity discovery; do
	tar xzf /packages/tar/selvedge-$name.tar.gz -C /root
	cp -r /root/selvedge-$name-*-linux-amd64 /usr/lib/selvedge-$name
	rm -r /root/selvedge-$name-*
	from=/usr/lib/selvedge-$name/systemd
	check "the tarball of selvedge-$name makes its user" systemd-sysusers $from/sysusers.conf
	install -D -m 644 $from/settings.json /etc/selvedge/$name.json
	install -m 644 $from/selvedge-$name.service /etc/systemd/system/
	systemctl daemon-reload
	check "its unit starts" systemctl enable --now selvedge-$name
	check "selvedge-$name runs from its tarball" eventually active selvedge-$name
	check "as its own user" is "$(ps -o user:30= -p "$(systemctl show -P MainPID selvedge-$name)" | tr -d ' ')" selvedge-$name
done
admin=/usr/lib/selvedge-identity/bin/selvedge-admin

mkdir /home/pi && tar xzf /packages/releases/0.1.0/selvedge-*.tar.gz -C /home/pi
check 'the tarball installs its service' eval '/home/pi/selvedge-*/bin/selvedge service install'
rm -r /home/pi
check 'the service runs' eventually active selvedge
check 'its command line is in PATH and reaches it' eventually eval 'selvedge me --json | grep -q nodeId'
check 'service status reports it' eval 'selvedge service status --json | grep -q "\"state\": *\"active\""'
check 'service logs prints its log' selvedge service logs --lines 5
check 'it confirms its release' eventually test -s /var/lib/selvedge/confirmed-release
mkdir -p /opt/open && chmod 777 /opt/open
check 'a folder that another user can change is refused' eval '! /opt/selvedge/current/bin/selvedge service install --prefix /opt/open/x'

first=$(node_id)
check "the operator's command makes an account from a tarball" $admin account create --email pi@example.com --if-none
rm -f /root/developer-token
client=$($admin project create --name demo --json | field clientId)
$admin token developer --client-id "$client" --out /root/developer-token
token=(--developer-token-file /root/developer-token --client-id "$client")
check 'the device of the tarball joins the account' eventually selvedge account associate "${token[@]}"
account=$(selvedge me --json | field accountId)
make_counter
rm -f /root/hello.tar
selvedge image pack /root/hello -o /root/hello.tar
check 'a function is deployed on it' selvedge image deploy /root/hello.tar "${token[@]}"
check 'and runs' selvedge container deploy --name hello --image hello --env MCM.ACCESS=public --env MCM.BASE_API_PATH=/hello "${token[@]}"
call() { curl -sS "http://127.0.0.1:8083/$client/hello/x"; }
echo 0 >/root/calls
works() { # <version>: it runs as the same node of the same account, and its function continues to count
	eventually node_id
	eventually eval 'call | grep -q "^call "'
	local count before
	count=$(call) before=$(cat /root/calls)
	count=${count#call }
	echo "$count" >/root/calls
	is "$(status current)" "$1" && is "$(status phase)" confirmed && is "$(node_id)" "$first" &&
		is "$(selvedge me --json | field accountId)" "$account" && test "$count" -gt "$before"
}
status() { selvedge upgrade --status --json | field "$1"; }
refuses() { # <what the message has> <arguments...>
	local expected=$1 before out
	shift
	before=$(readlink /opt/selvedge/current)
	if out=$(selvedge upgrade "$@" 2>&1); then echo "it was accepted: $out"; return 1; fi
	matches "$out" "$expected" && is "$(readlink /opt/selvedge/current)" "$before" && active selvedge
}
archive() { ls /packages/releases/"$1"/*.tar.gz; }
check 'the installed release works' works 0.1.0

mkdir /root/unsigned && cp "$(archive 0.2.0)" /root/unsigned
check 'an unsigned release is refused' refuses 'signed list' /root/unsigned/*.tar.gz
check 'a release that another key signed is refused' refuses 'not signed by a release key' "$(archive 0.2.0)" --release-file /packages/releases/other-key.release.json
check 'an older release is refused' refuses 'older than 0.1.0' "$(archive 0.0.9)"
echo x >>/root/unsigned/*.tar.gz
check 'a changed archive is refused' refuses 'was signed with' /root/unsigned/*.tar.gz --release-file "$(ls /packages/releases/0.2.0/*.release.json)"
rm -r /root/unsigned

out=$(selvedge upgrade "$(archive 0.2.0)" --json)
check 'an upgrade is confirmed after its trial' is "$(field restart <<<"$out")" confirmed
check 'the upgraded runtime continues as it was' works 0.2.0
check 'the release before stays for a rollback' is "$(status previous)" 0.1.0

check 'a rollback is done' selvedge upgrade --rollback
check 'the rolled back runtime continues as it was' works 0.1.0

if out=$(selvedge upgrade "$(archive 0.3.0)" --json); then code=0; else code=$?; fi
check 'an upgrade that cannot start ends with a failure' is "$code $(field restart <<<"$out")" '1 rolled back'
check 'the release before it runs again by itself' works 0.1.0
check 'the status names the release that failed' is "$(status failed)" 0.3.0
check 'the service is active and was not stopped by its start limit' active selvedge
systemctl restart selvedge
check 'and after another restart' works 0.1.0
