/** Servers of other protocols, and one that streams. */
import { downloadPackages, versionOf } from '../debian-packages.ts'
import { expectText } from '../expect-text.ts'
import type { Program } from '../field.ts'
import { greeting } from '../greeting.ts'
import { asUser, makeImage } from '../make-image.ts'

const memcached: Program = {
  name: 'memcached',
  manner: 'a user of the image',
  version: () => versionOf(downloadPackages(['memcached']), 'memcached'),
  env: { 'MCM.PORTS': 'PORT:11211' },
  image: () =>
    makeImage({
      name: 'memcached',
      packages: ['memcached'],
      users: 'memcache:x:11211:11211::/:/bin/false\n',
      config: {
        User: 'memcache',
        Entrypoint: ['docker-entrypoint.sh'],
        Cmd: ['memcached'],
        ExposedPorts: { '11211/tcp': {} },
      },
      fill: (root) =>
        root.script(
          'usr/local/bin/docker-entrypoint.sh',
          '#!/bin/sh\nset -e\ncase "$1" in -*) set -- memcached "$@" ;; esac\nexec "$@"\n',
        ),
    }),
  used: 'stores a value and reads it, at the port',
  use: async ({ port }) =>
    expectText(
      await greeting(port, Buffer.from('set a 0 0 5\r\nhello\r\nget a\r\n'), 'END'),
      /^STORED\r\nVALUE a 0 5\r\nhello\r\nEND/,
    ),
}

const icecast: Program = {
  name: 'icecast',
  manner: 'root; writes passwords into its configuration, `chown`, drops to `icecast2`',
  version: () => versionOf(downloadPackages(['icecast2', 'media-types']), 'icecast2'),
  env: { ICECAST_SOURCE_PASSWORD: 'secret', 'MCM.PORTS': 'PORT:8000' },
  image: () =>
    makeImage({
      name: 'icecast',
      packages: ['icecast2', 'media-types'],
      users: 'icecast2:x:101:101::/:/bin/false\n',
      config: {
        Entrypoint: ['/entrypoint.sh'],
        Cmd: ['icecast2', '-n', '-c', '/etc/icecast2/icecast.xml'],
        ExposedPorts: { '8000/tcp': {} },
        Volumes: { '/var/log/icecast2': {} },
      },
      fill: (root) =>
        root.script(
          'entrypoint.sh',
          `#!/bin/sh
set -e
sed -i "s/<source-password>[^<]*</<source-password>$ICECAST_SOURCE_PASSWORD</" /etc/icecast2/icecast.xml
chown -R icecast2: /etc/icecast2 /var/log/icecast2
${asUser('icecast2')} "$@"
`,
        ),
    }),
  used: 'its state through the gateway; a source that may send, with its password, at the port',
  async use({ http, port }) {
    expectText(await http('/status-json.xsl'), /"server_id":"Icecast 2/)
    const password = Buffer.from('source:secret').toString('base64')
    const source = `SOURCE /live.mp3 HTTP/1.0\r\nAuthorization: Basic ${password}\r\nContent-Type: audio/mpeg\r\n\r\n`
    expectText(await greeting(port, Buffer.from(source)), /^HTTP\/1\.0 200 OK/)
  },
}

const squid: Program = {
  name: 'squid',
  manner: 'root, `chown`, drops to `proxy`',
  version: () => versionOf(downloadPackages(['squid']), 'squid'),
  env: { 'MCM.PORTS': 'PORT:3128' },
  image: () =>
    makeImage({
      name: 'squid',
      packages: ['squid'],
      users: 'proxy:x:13:13::/:/bin/false\n',
      config: {
        Entrypoint: ['entrypoint.sh'],
        Cmd: ['-f', '/etc/squid/squid.conf', '-NYC'],
        ExposedPorts: { '3128/tcp': {} },
        Volumes: { '/var/log/squid': {}, '/var/spool/squid': {} },
      },
      fill: (root) =>
        root.script(
          'usr/local/bin/entrypoint.sh',
          `#!/bin/sh
set -e
chown -R proxy: /var/log/squid /var/spool/squid
rm -f /run/squid.pid
squid -Nz -f /etc/squid/squid.conf
exec squid "$@"
`,
        ),
    }),
  used: 'its refusal of a request to a host that it does not serve, at the port',
  use: async ({ port }) =>
    expectText(
      await greeting(port, Buffer.from('GET http://a.test/ HTTP/1.0\r\n\r\n'), 'Server: '),
      /^HTTP\/1\.\d 403 [\s\S]*Server: squid/,
    ),
}

export const servers: readonly Program[] = [memcached, icecast, squid]
