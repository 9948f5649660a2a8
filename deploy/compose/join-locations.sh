# Makes one cluster of the six servers at the first start. Later, lets them find each other again: their addresses may have changed.
set -eu
names='locations-1 locations-2 locations-3 locations-4 locations-5 locations-6'

address_of() {
	getent ahostsv4 "$1" | { read -r found _ && echo "$found"; }
}
ask() {
	"$CLI" -h "$@" 2>/dev/null
}
info() { # <server> <field>
	ask "$1" cluster info | tr -d '\r' | sed -n "s/^$2://p"
}

addresses=
for name in $names; do
	until [ "$(ask "$name" ping)" = PONG ]; do sleep 0.5; done
	addresses="$addresses $(address_of "$name")"
done

if [ "$(info locations-1 cluster_known_nodes)" = 1 ]; then
	# shellcheck disable=SC2046
	"$CLI" --cluster create $(for each in $addresses; do echo "$each:6379"; done) --cluster-replicas 1 --cluster-yes
else
	for each in $addresses; do ask locations-1 cluster meet "$each" 6379; done
fi

for name in $names; do
	until [ "$(info "$name" cluster_state) $(info "$name" cluster_known_nodes)" = 'ok 6' ]; do sleep 0.5; done
done
echo 'the six servers are one cluster'
