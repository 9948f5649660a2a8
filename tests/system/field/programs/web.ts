/** Programs that speak HTTP, through the gateway. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nginxImage } from '../../services/public-images.ts'
import { downloadPackages, versionOf } from '../debian-packages.ts'
import { expectText } from '../expect-text.ts'
import type { Program } from '../field.ts'
import { installedVersion } from '../installed-version.ts'
import { asUser, installFromNpm, makeImage, npmVersion } from '../make-image.ts'
import { notesInJava, notesInPython } from './notes.ts'

const nginx: Program = {
  name: 'nginx',
  manner: 'root, port 80, workers of another user; writes its configuration from a template',
  version: () => installedVersion('nginx', '-v', /nginx\/([\d.]+)/),
  env: { GREETING: 'welcome' },
  image: nginxImage,
  used: 'a page through the gateway',
  use: async ({ http }) => expectText(await http('/index.html'), /^welcome from nginx/),
}

const httpd: Program = {
  name: 'httpd',
  manner: 'root, port 80, workers of `www-data`; logs to `/proc/self/fd`',
  version: () => versionOf(downloadPackages(['apache2']), 'apache2-bin'),
  image: () =>
    makeImage({
      name: 'httpd',
      packages: ['apache2'],
      config: { Cmd: ['httpd-foreground'], ExposedPorts: { '80/tcp': {} }, StopSignal: 'SIGWINCH' },
      fill(root) {
        root.file('var/www/html/index.html', 'It works!\n')
        for (const each of ['run/apache2', 'var/lock', 'var/log/apache2']) root.folder(each)
        root.file(
          'etc/apache2/httpd.conf',
          `ServerName localhost
Listen 80
${['mpm_event', 'authz_core', 'dir', 'mime'].map((each) => `LoadModule ${each}_module /usr/lib/apache2/modules/mod_${each}.so`).join('\n')}
TypesConfig /dev/null
User www-data
Group www-data
PidFile /run/apache2/httpd.pid
ErrorLog /proc/self/fd/2
LogFormat "%h %r %>s" common
CustomLog /proc/self/fd/1 common
DocumentRoot /var/www/html
`,
        )
        root.script(
          'usr/local/bin/httpd-foreground',
          '#!/bin/sh\nset -e\nrm -f /run/apache2/httpd.pid\nexec apache2 -f /etc/apache2/httpd.conf -DFOREGROUND "$@"\n',
        )
      },
    }),
  used: 'a page through the gateway',
  use: async ({ http }) => expectText(await http('/index.html'), /^It works!/),
}

const haproxy: Program = {
  name: 'haproxy',
  manner: 'the user `haproxy`, port 80; a master and a worker',
  version: () => versionOf(downloadPackages(['haproxy']), 'haproxy'),
  image: () =>
    makeImage({
      name: 'haproxy',
      packages: ['haproxy'],
      users: 'haproxy:x:99:99::/:/bin/false\n',
      config: {
        User: 'haproxy',
        Entrypoint: ['docker-entrypoint.sh'],
        Cmd: ['haproxy', '-f', '/usr/local/etc/haproxy/haproxy.cfg'],
        ExposedPorts: { '80/tcp': {} },
        StopSignal: 'SIGUSR1',
      },
      fill(root) {
        root.file(
          'usr/local/etc/haproxy/haproxy.cfg',
          `global
  log stdout format raw local0
defaults
  mode http
  timeout client 30s
  timeout server 30s
  timeout connect 5s
frontend web
  bind :80
  http-request return status 200 content-type text/plain string "from haproxy"
`,
        )
        root.script(
          'usr/local/bin/docker-entrypoint.sh',
          '#!/bin/sh\nset -e\n[ "$1" != haproxy ] || { shift; set -- haproxy -W -db "$@"; }\nexec "$@"\n',
        )
      },
    }),
  used: 'an answer through the gateway',
  use: async ({ http }) => expectText(await http('/'), /^from haproxy/),
}

const prometheus: Program = {
  name: 'prometheus',
  manner: 'the user `nobody`; a volume that belongs to it',
  version: () => versionOf(downloadPackages(['prometheus']), 'prometheus'),
  image: () =>
    makeImage({
      name: 'prometheus',
      packages: ['prometheus'],
      config: {
        User: 'nobody',
        Entrypoint: ['prometheus'],
        Cmd: ['--config.file=/etc/prometheus/own.yml', '--storage.tsdb.path=/prometheus'],
        Volumes: { '/prometheus': {} },
        ExposedPorts: { '9090/tcp': {} },
        WorkingDir: '/prometheus',
      },
      fill(root) {
        root.folder('prometheus', 65534)
        // Debian's program stores there without the option; that of the public image stores in its working directory.
        root.folder('var/lib/prometheus/metrics2', 65534)
        root.file(
          'etc/prometheus/own.yml',
          "global: { scrape_interval: 1s }\nscrape_configs:\n  - job_name: own\n    static_configs: [{ targets: ['127.0.0.1:9090'] }]\n",
        )
        // Not used, and as large as the program.
        rmSync(join(root.path, 'usr/bin/promtool'))
      },
    }),
  used: 'scrapes itself; a query through the gateway',
  async use({ http }) {
    expectText(await http('/api/v1/query?query=up'), /"value":\[[\d.]+,"1"\]/)
  },
  // Samples of before the restart.
  async stored({ http }) {
    expectText(
      await http('/api/v1/query?query=changes(process_start_time_seconds[1h])'),
      /"value":\[[\d.]+,"[1-9]/,
    )
  },
}

const nodeRed: Program = {
  name: 'node-red',
  manner: 'a user of the image; its folder `/data`',
  version: () => npmVersion('node-red', 'node-red'),
  image: () =>
    makeImage({
      name: 'node-red',
      packages: ['libstdc++6'],
      users: 'node-red:x:1000:1000::/usr/src/node-red:/bin/bash\n',
      config: {
        User: 'node-red',
        WorkingDir: '/usr/src/node-red',
        Entrypoint: ['node', 'node_modules/node-red/red.js', '--userDir', '/data'],
        Volumes: { '/data': {} },
        ExposedPorts: { '1880/tcp': {} },
      },
      fill(root) {
        root.folder('data', 1000)
        cpSync(process.execPath, join(root.path, 'usr/bin/node'), { dereference: true })
        cpSync(installFromNpm(['node-red@4'], 'node-red'), join(root.path, 'usr/src/node-red'), {
          recursive: true,
        })
      },
    }),
  used: 'deploys a flow through the gateway, and calls it',
  async use({ http }) {
    expectText(await http('/settings'), /"version":"4/)
  },
  async store({ http }) {
    const flow = [
      { id: 'tab', type: 'tab', label: 'a' },
      { id: 'in', type: 'http in', z: 'tab', url: '/stored', method: 'get', wires: [['set']] },
      {
        id: 'set',
        type: 'change',
        z: 'tab',
        rules: [{ t: 'set', p: 'payload', pt: 'msg', to: 'stored', tot: 'str' }],
        wires: [['out']],
      },
      { id: 'out', type: 'http response', z: 'tab', wires: [] },
    ]
    await http('/flows', {
      method: 'POST',
      body: JSON.stringify(flow),
      headers: { 'Content-Type': 'application/json' },
    })
  },
  stored: async ({ http }) => expectText(await http('/stored'), /^stored$/),
}

const pythonPackages = ['gunicorn', 'python3-flask'] as const

const python: Program = {
  name: 'python',
  manner: 'root, `chown`, drops to a user; SQLite in a volume',
  version: () => versionOf(downloadPackages(pythonPackages), 'python3.11-minimal'),
  env: { 'MCM.VOLUMES': 'notes:/data' },
  image: () =>
    makeImage({
      name: 'python',
      packages: pythonPackages,
      users: 'app:x:1000:1000::/srv:/bin/sh\n',
      config: {
        WorkingDir: '/srv',
        Entrypoint: ['/entrypoint.sh'],
        Cmd: ['gunicorn', '--bind', '0.0.0.0:8000', '--workers', '2', 'app:app'],
        ExposedPorts: { '8000/tcp': {} },
      },
      fill(root) {
        root.file('srv/app.py', notesInPython)
        root.script(
          'entrypoint.sh',
          `#!/bin/sh\nset -e\nmkdir -p /data\nchown -R app: /data\n${asUser('app')} "$@"\n`,
        )
      },
    }),
  used: 'requests through the gateway',
  use: async ({ http }) => expectText(await http('/'), /^notes$/),
  store: async ({ http }) => void (await http('/note', { method: 'POST', body: 'stored' })),
  stored: async ({ http }) => expectText(await http('/note'), /^stored$/),
}

const java: Program = {
  name: 'java',
  manner: 'a user of the image; a file in a volume',
  version: () => versionOf(downloadPackages(['openjdk-17-jre-headless']), 'openjdk-17-jre-headless'),
  env: { 'MCM.VOLUMES': 'notes:/data' },
  image: () =>
    makeImage({
      name: 'java',
      packages: ['openjdk-17-jre-headless'],
      users: 'app:x:1000:1000::/srv:/bin/sh\n',
      config: {
        User: 'app',
        WorkingDir: '/srv',
        Entrypoint: [
          '/usr/lib/jvm/java-17-openjdk-amd64/bin/java',
          '-XX:MaxRAMPercentage=50',
          '-cp',
          '/srv',
          'Notes',
        ],
        ExposedPorts: { '8000/tcp': {} },
      },
      fill(root) {
        root.folder('data', 1000)
        const folder = mkdtempSync(join(tmpdir(), 'java-'))
        writeFileSync(join(folder, 'Notes.java'), notesInJava)
        execFileSync('javac', ['--release', '17', '-d', join(root.path, 'srv'), join(folder, 'Notes.java')])
        rmSync(folder, { recursive: true })
      },
    }),
  used: 'requests through the gateway',
  use: async ({ http }) => expectText(await http('/'), /^notes$/),
  store: async ({ http }) => void (await http('/note', { method: 'POST', body: 'stored' })),
  stored: async ({ http }) => expectText(await http('/note'), /^stored$/),
}

export const web: readonly Program[] = [haproxy, httpd, java, nginx, nodeRed, prometheus, python]
