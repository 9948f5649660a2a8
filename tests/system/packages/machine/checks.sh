#!/bin/bash
# What the checks of the virtual machine have in common.
shopt -s lastpipe
check() { # <title> <command...>
	local title=$1 out
	shift
	if out=$("$@" 2>&1); then echo "ok $title"; else
		echo "not ok $title"
		printf '%s\n' "$out" | tail -n 15 | sed 's/^/    /'
	fi
}
is() { [ "$1" = "$2" ] || { echo "expected $2, found $1"; return 1; }; }
matches() { [[ $1 =~ $2 ]] || { echo "expected $2, found $1"; return 1; }; }
active() { is "$(systemctl is-active "$1")" active; }
field() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" | head -n 1; }
eventually() { for _ in $(seq 100); do "$@" >/dev/null 2>&1 && return; sleep 0.5; done; "$@"; }
node_id() { selvedge me --json | field nodeId; }

make_counter() { # in /root/hello: a function that counts its calls in its storage
	mkdir -p /root/hello
	cat >/root/hello/index.js <<'END'
mimikModule.exports = (context, request, response) => {
  const grow = () => { const held = []; for (;;) held.push(new Uint8Array(1024 * 1024).fill(1)) }
  if (request.url === '/grow') grow()
  const count = Number(context.storage.getItem('count') ?? 0) + 1
  context.storage.setItem('count', String(count))
  response.end(`call ${count}`)
}
END
}
