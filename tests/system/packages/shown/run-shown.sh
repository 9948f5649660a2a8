#!/bin/bash
# Installs the packages, makes what the documents assume, and runs the commands of /shown/lines/<number>, which /shown/{lasting,ordered,others}
# list. What each prints is in /shown/out/<number>.out, its exit code in /shown/out/<number>.code.
set -eu
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/shown/fixture DEBIAN_FRONTEND=noninteractive
cd /shown/fixture
dpkg --force-depends --force-unsafe-io --install /shown/packages/*.deb

selvedge-admin account create --email you@example.com
CLIENT_ID=$(selvedge-admin project create --name prepared --scopes "openid edge:mcm edge:clusters edge:account:associate edge:account:unassociate offline_access" --json | sed -n 's/.*"clientId": *"\([^"]*\)".*/\1/p')
selvedge-admin token developer --client-id "$CLIENT_ID" --out developer-token
cp developer-token developer.token
selvedge account associate --developer-token-file developer-token --client-id "$CLIENT_ID"
SELVEDGE_ACCESS_TOKEN=$(selvedge token access --developer-token-file developer-token --client-id "$CLIENT_ID")
export CLIENT_ID SELVEDGE_ACCESS_TOKEN

for each in hello van mailer my-function; do selvedge init worker "$each"; done
selvedge image pack examples/counter -o counter.tar
selvedge image deploy counter.tar
selvedge context add kitchen --url https://kitchen.example:8083
echo "$SELVEDGE_ACCESS_TOKEN" | tee token.txt >t.jwt
cp developer-token id.jwt
echo secret | tee password.txt secret.txt key written.json >key.pem
printf 'services:\n  web:\n    image: docker.io/library/nginx:1.27\n' | tee compose.yaml base.yaml >/dev/null
printf 'services:\n  web:\n    profiles: [debug]\n' >edge.yaml
echo TAG=1 >edge.env
mkdir shop /backups
cp compose.yaml shop
selvedge gps update --longitude -123.115 --latitude 49.25 --speed 0 --bearing 0

cat >/shown/run-one <<'END'
#!/bin/bash
# Each command has its own copy of the folder, which is its home folder as well.
cp -a /shown/fixture "/shown/work/$2"
cd "/shown/work/$2"
export HOME="/shown/work/$2"
timeout --kill-after 60 --signal INT "$1" bash -c "$(cat "/shown/lines/$2")" >"/shown/out/$2.out" 2>&1 </dev/null
echo $? >"/shown/out/$2.code"
rm -rf "/shown/work/$2"
END
chmod +x /shown/run-one
xargs -a /shown/lasting -P 6 -I{} /shown/run-one 3 {} &
xargs -a /shown/others -P 2 -I{} /shown/run-one 120 {}
wait
for each in hello van; do selvedge deploy "$each"; done
xargs -a /shown/ordered -I{} /shown/run-one 120 {}
