/** Programs that clients reach by ports which are not HTTP. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { decode, encode } from 'dns-packet'
import { stepLimitMs } from '../../../harness/limits.ts'
import { downloadPackages, versionOf } from '../debian-packages.ts'
import { expectText } from '../expect-text.ts'
import type { Program } from '../field.ts'
import { greeting } from '../greeting.ts'
import { makeImage } from '../make-image.ts'

const repeatMs = 200

const dnsmasq: Program = {
  name: 'dnsmasq',
  manner: 'root, port 53',
  version: () => versionOf(downloadPackages(['dnsmasq-base']), 'dnsmasq-base'),
  env: {
    // To give up root it needs NET_ADMIN.
    'MCM.ARGS': JSON.stringify(['-u', 'root', '-R', '-h', '-A', '/router.test/10.9.8.7']),
    'MCM.PORTS': 'PORT:53/udp',
  },
  image: () =>
    makeImage({
      name: 'dnsmasq',
      packages: ['dnsmasq-base'],
      config: {
        Entrypoint: ['dnsmasq', '--keep-in-foreground', '--log-facility=-', '--pid-file='],
        ExposedPorts: { '53/udp': {}, '53/tcp': {} },
      },
      fill: (root) => root.file('etc/dnsmasq.conf', ''),
    }),
  used: 'a query of DNS over UDP at the port',
  async use({ port }) {
    const socket = createSocket('udp4')
    const query = encode({ type: 'query', id: 5, questions: [{ type: 'A', name: 'router.test' }] })
    const repeating = setInterval(() => socket.send(query, port, '127.0.0.1'), repeatMs)
    try {
      const [answer] = await once(socket, 'message', { signal: AbortSignal.timeout(stepLimitMs) })
      expectText(JSON.stringify(decode(answer).answers), /10\.9\.8\.7/)
    } finally {
      clearInterval(repeating)
      socket.close()
    }
  },
}

const sshPackages = ['openssh-server', 'openssh-client'] as const

/** As a service of a machine: `sshd` as root, which calls `chroot` before it knows who logs in. */
const sshd: Program = {
  name: 'openssh-server',
  manner: 'root, `chroot`, drops to the user who logs in; makes its host keys',
  version: () => versionOf(downloadPackages(sshPackages), 'openssh-server'),
  env: { USER_NAME: 'pilot', 'MCM.PORTS': 'PORT:2222' },
  image: () =>
    makeImage({
      name: 'sshd',
      packages: sshPackages,
      users: 'sshd:x:105:105::/run/sshd:/bin/false\npilot:x:1000:1000::/config:/bin/bash\n',
      config: { Entrypoint: ['/init-sshd'], Volumes: { '/config': {} }, ExposedPorts: { '2222/tcp': {} } },
      fill(root) {
        root.folder('config', 1000)
        root.script(
          'init-sshd',
          `#!/bin/bash
set -e
mkdir -p /run/sshd
cd /config
for each in host_key id; do
  [ -f $each ] || ssh-keygen -q -t ed25519 -N "" -f /config/$each
done
cp id.pub authorized_keys
chmod 600 authorized_keys
chown -R $USER_NAME: id* authorized_keys
exec /usr/sbin/sshd -D -e -p 2222 -f /dev/null \\
  -h /config/host_key -o StrictModes=no -o AuthorizedKeysFile=/config/authorized_keys
`,
        )
      },
    }),
  used: 'its greeting at the port; a login with a key, and a command',
  async use({ port, exec }) {
    expectText(await greeting(port), /^SSH-2\.0-OpenSSH/)
    expectText(ssh(exec, 'id -un'), /^pilot$/)
  },
  store: ({ exec }) => void ssh(exec, 'echo stored > /config/note'),
  stored: ({ exec }) => expectText(ssh(exec, 'cat /config/note'), /^stored$/),
}

const ssh = (exec: (...command: string[]) => string, command: string): string => {
  const unattended = [
    '-o',
    'StrictHostKeyChecking=no',
    '-o',
    'UserKnownHostsFile=/dev/null',
    '-o',
    'LogLevel=ERROR',
  ]
  return exec('ssh', ...unattended, '-i', '/config/id', '-p', '2222', 'pilot@127.0.0.1', command)
}

const sambaPackages = ['samba', 'smbclient'] as const

const samba: Program = {
  name: 'samba',
  manner: 'root, port 445; makes users and shares from variables',
  version: () => versionOf(downloadPackages(sambaPackages), 'samba'),
  env: { SMB_USER: 'ada', SMB_PASSWORD: 'secret', 'MCM.PORTS': 'PORT:445' },
  image: () =>
    makeImage({
      name: 'samba',
      packages: sambaPackages,
      users: 'ada:x:1000:1000::/share:/bin/false\n',
      config: { Entrypoint: ['/samba.sh'], Volumes: { '/share': {} }, ExposedPorts: { '445/tcp': {} } },
      fill(root) {
        root.folder('share', 1000)
        for (const each of ['run/samba', 'var/lib/samba/private', 'var/cache/samba', 'var/log/samba'])
          root.folder(each)
        root.script(
          'samba.sh',
          `#!/bin/bash
set -e
cat > /etc/samba/smb.conf <<CONF
[global]
server role = standalone server
disable netbios = yes
smb ports = 445
load printers = no
[share]
path = /share
read only = no
valid users = $SMB_USER
CONF
chown -R $SMB_USER: /share
printf '%s\\n%s\\n' "$SMB_PASSWORD" "$SMB_PASSWORD" | smbpasswd -s -a $SMB_USER
exec smbd --foreground --no-process-group --debug-stdout
`,
        )
      },
    }),
  used: 'a negotiation of SMB at the port; files with its client',
  async use({ port, exec }) {
    expectText(await greeting(port, negotiation), /^[\s\S]{4}\xfeSMB/)
    expectText(smb(exec, 'ls'), /blocks available/)
  },
  store: ({ exec }) => void smb(exec, 'put /etc/samba/smb.conf stored'),
  stored: ({ exec }) => expectText(smb(exec, 'ls stored'), /stored/),
}

const smb = (exec: (...command: string[]) => string, command: string): string =>
  exec('smbclient', '//127.0.0.1/share', '--user=ada%secret', '--command', command)

/** SMB_COM_NEGOTIATE with the dialect "SMB 2.002" ([MS-SMB2] 3.3.5.3). */
const negotiation = ((): Buffer => {
  const dialect = Buffer.from('\x02SMB 2.002\0', 'latin1')
  const header = Buffer.alloc(32)
  header.write('\xffSMB\x72', 'latin1')
  header[9] = 0x18
  header.writeUInt16LE(0x2801, 10)
  const body = Buffer.concat([header, Buffer.from([0, dialect.length, 0]), dialect])
  return Buffer.concat([Buffer.from([0, 0, 0, body.length]), body])
})()

export const networks: readonly Program[] = [dnsmasq, samba, sshd]
