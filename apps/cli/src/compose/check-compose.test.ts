// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of Compose files
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  check,
  notesOf,
  type Options,
  problemsOf,
  serviceOf,
} from '../../../../tests/harness/check-compose.ts'

/** Word of Compose files for no network, no health check and no path. */
const nothing = 'none'

/** A service with some keys. */
const service = (keys: string, options?: Options) =>
  check(`services:\n  web:\n    image: x\n    ${keys}\n`, options)
const envOf = async (keys: string) => serviceOf(await service(keys)).env
const problemIn = async (keys: string) => problemsOf(await service(keys))[0]

describe('settings', () => {
  it.each([
    ['command: serve --port "8 0" it\\ is', { 'MCM.ARGS': '["serve","--port","8 0","it is"]' }],
    ['command: [a, "b c"]', { 'MCM.ARGS': '["a","b c"]' }],
    ['entrypoint: /bin/run', { 'MCM.COMMAND': '["/bin/run"]' }],
    ['{entrypoint: [a], command: b}'.slice(1, -1).replace(', ', '\n    '), { 'MCM.COMMAND': '["a","b"]' }],
    ['user: "1000:1000"', { 'MCM.USER': '1000:1000' }],
    ['working_dir: /srv', { 'MCM.WORKDIR': '/srv' }],
    ['stop_signal: INT', { 'MCM.STOP_SIGNAL': 'SIGINT' }],
    ['stop_grace_period: 1m30s', { 'MCM.STOP_SEC': '90' }],
    ['stop_grace_period: 100ms', { 'MCM.STOP_SEC': '1' }],
    ['shm_size: 100mb', { 'MCM.SHM_MB': '100' }],
    ['read_only: yes', { 'MCM.ROOT': 'read-only' }],
    ['tmpfs: [/run, "/cache:size=8m,mode=1777"]', { 'MCM.TMPFS': '/run, /cache:8' }],
    ['mem_limit: 1g', { 'MCM.MEMORY_MB': '1024' }],
    [
      'deploy: {resources: {limits: {cpus: "0.5", memory: 64M, pids: 50}}}',
      { 'MCM.CPU': '0.5', 'MCM.MEMORY_MB': '64', 'MCM.PIDS': '50' },
    ],
    ['storage_opt: {size: 1g}', { 'MCM.ROOT_MB': '1024' }],
    ['extra_hosts: ["db:10.0.0.5", "six=[::1]"]', { 'MCM.HOSTS': 'db=10.0.0.5, six=::1' }],
    ['devices: ["/dev/ttyUSB0:/dev/ttyUSB0:rw"]', { 'MCM.DEVICES': '/dev/ttyUSB0' }],
    [
      'devices: ["/dev/serial/by-id/pci-0:1-if00:/dev/ttyACM0"]',
      { 'MCM.DEVICES': '/dev/serial/by-id/pci-0:1-if00:/dev/ttyACM0' },
    ],
    [
      'devices: [{ source: /dev/a, target: /dev/b, permissions: r }, /dev/a]',
      { 'MCM.DEVICES': '/dev/a:/dev/b, /dev/a' },
    ],
    ['devices: ["/dev/dri:/dev/dri", /dev/a]', { 'MCM.DEVICES': 'gpu, /dev/a' }],
    ['devices: ["amd.com/gpu=all", "a/b=c:d"]', { 'MCM.DEVICES': 'amd.com/gpu=all, a/b=c:d' }],
    ['volumes: ["/srv/media:/media:ro"]', { 'MCM.MOUNTS': '/srv/media:/media:ro' }],
    ['network_mode: host', { 'MCM.NETWORK': 'host' }],
    [`network_mode: ${nothing}`, { 'MCM.OUTBOUND': 'none' }],
    ['healthcheck: {test: [CMD, a, b]}', { 'MCM.HEALTH_CMD': '["a","b"]' }],
    ['healthcheck: {test: "curl -f x"}', { 'MCM.HEALTH_CMD': '["/bin/sh","-c","curl -f x"]' }],
    [`healthcheck: {test: [${nothing.toUpperCase()}]}`, { 'MCM.HEALTH_CMD': '[]' }],
    ['healthcheck: {disable: true}', { 'MCM.HEALTH_CMD': '[]' }],
    ['healthcheck: {interval: 5s, retries: 4, start_period: 10s}', { 'MCM.HEALTH_SEC': '30' }],
    [
      'environment: {MCM.READY: "log:ready", MODE: 0644, V: 1.10, T: yes}',
      { 'MCM.READY': 'log:ready', MODE: '0644', V: '1.10', T: 'yes' },
    ],
    ['environment: [A=b=c, EMPTY=]', { A: 'b=c', EMPTY: '' }],
    ['ports: ["1883:1883", "5683:5683/udp", "2222:22"]', { 'MCM.PORTS': '1883/tcp, 5683/udp, 2222:22/tcp' }],
    ['ports: ["7100-7102:7200-7202"]', { 'MCM.PORTS': '7100:7200/tcp, 7101:7201/tcp, 7102:7202/tcp' }],
    ['ports: [{target: 502, published: "1502"}]', { 'MCM.PORTS': '1502:502/tcp' }],
  ])('%s', async (keys, expected) => {
    const { 'MCM.READY': ready, ...env } = await envOf(keys)
    expect({ ...env, ...('MCM.READY' in expected && { 'MCM.READY': ready }) }).toEqual(expected)
  })

  it.each([
    ['user: "70000"', '4:11 services.web.user: "70000" is not possible for MCM.USER.'],
    [
      'mem_limit: 1m',
      '4:16 services.web.mem_limit: "1" is not possible for MCM.MEMORY_MB. Write a decimal number from 48',
    ],
    [
      'stop_grace_period: 10m',
      '4:24 services.web.stop_grace_period: "600" is not possible for MCM.STOP_SEC.',
    ],
    ['stop_grace_period: soon', '4:24 services.web.stop_grace_period: "soon" is not valid. Write a duration'],
    ['stop_signal: "9"', '4:18 services.web.stop_signal: "SIG9" is not possible'],
    ['network_mode: "container:other"', '4:19 services.web.network_mode: "container:other" is not supported'],
    [
      'network_mod: host',
      '4:5 services.web.network_mod: Compose has no such key here. Did you mean "network_mode"?',
    ],
    ['privileged: true', '4:17 services.web.privileged: A container never gets all rights'],
    ['pid: host', '4:5 services.web.pid: A container does not see processes of others.'],
    ['build: .', '4:5 services.web.build: A device does not build images.'],
    ['scale: 3', '4:12 services.web.scale: 3 copies are not supported yet.'],
    ['cap_add: [SYS_ADMIN]', '4:15 services.web.cap_add[0]: "SYS_ADMIN" is not in the profile'],
    [
      'security_opt: ["seccomp:unconfined"]',
      '4:20 services.web.security_opt[0]: "seccomp:unconfined" is not supported',
    ],
    ['logging: {driver: syslog}', '4:23 services.web.logging.driver: "syslog" is not supported'],
    [
      'volumes: ["/var/run/docker.sock:/x"]',
      '4:15 services.web.volumes[0]: "/var/run/docker.sock" would give',
    ],
    ['volumes: ["./data:/x"]', '4:15 services.web.volumes[0]: There is no "./data" here'],
    ['volumes: ["~/data:/x"]', '4:15 services.web.volumes[0]: "~/data" is in a home folder'],
    ['volumes: ["data:/x"]', '4:15 services.web.volumes[0]: The file has no volume "data".'],
    ['volumes: ["/a:/x", "/b:/x"]', '4:24 services.web.volumes[1]: Two mounts have the path "/x".'],
    [
      'volumes: ["/a/../b:/x"]',
      '4:15 services.web.volumes[0]: "/a/../b:/x:rw" is not possible for MCM.MOUNTS.',
    ],
    ['volumes: ["/a:/x/../y"]', '4:15 services.web.volumes[0]: "/x/../y" is not a path in the container.'],
    ['volumes: ["C:\\\\a:/x"]', 'is a folder of Windows'],
    ['ports: ["80:80:80:80"]', '4:13 services.web.ports[0]: "80:80:80:80" is not a port.'],
    ['ports: ["1-65535:1-65535"]', '4:13 services.web.ports[0]: "1-65535" has 65535 ports.'],
    ['ports: ["70000:80"]', '4:13 services.web.ports[0]: "70000" is not a port or a range'],
    ['ports: ["22:22", "22:23"]', '4:22 services.web.ports[1]: Port 22/tcp of the device is there twice.'],
    [
      'ports: ["10.0.0.1:22:22"]',
      '4:13 services.web.ports[0]: Ports are not bound to single addresses such as "10.0.0.1" yet.',
    ],
    [
      'environment: {MCM.NETWROK: x}',
      '4:32 services.web.environment.MCM.NETWROK: "x" is not possible for MCM.NETWROK.',
    ],
    [
      'environment: {MCM.VOLUMES: "a:/b"}',
      '4:32 services.web.environment.MCM.VOLUMES: Write "volumes" of the service',
    ],
    ['environment: ["A B=c"]', '4:19 services.web.environment[0]: "A B" is not the name of a variable.'],
    [
      'environment: {MCM.USER: root}\n    user: me',
      '5:11 services.web.user: It sets MCM.USER, as services.web.environment.MCM.USER (line 4) does.',
    ],
    ['networks: [back]', '4:16 services.web.networks[0]: The file has no network "back".'],
    ['secrets: [key]', '4:15 services.web.secrets[0]: The file has no secret "key".'],
    [
      'extra_hosts: ["host.docker.internal:host-gateway"]',
      '4:19 services.web.extra_hosts[0]: Services do not reach the device',
    ],
    [
      'labels: {dev.selvedge.path: /x}',
      '4:33 services.web.labels.dev.selvedge.path: There is no such label.',
    ],
    [
      'labels: {dev.selvedge.base-path: "a b"}',
      '4:38 services.web.labels.dev.selvedge.base-path: "a b" is not possible for MCM.BASE_API_PATH.',
    ],
    ['healthcheck: {test: [a]}', '4:25 services.web.healthcheck.test: The list begins with CMD'],
    ['command: "it\'s"', '4:14 services.web.command: The text has a quote that is not closed.'],
    ['entrypoint: []', '4:17 services.web.entrypoint: Without an entry point the service has no program.'],
    ['deploy: {replicas: 2}', '4:24 services.web.deploy.replicas: 2 copies are not supported yet.'],
    [
      'env_file: [{path: .env, format: raw, mode: 1}]',
      'services.web.env_file[0].mode: Only path, required and format',
    ],
    ['environment: 5', '4:18 services.web.environment: This is a single value. Write a mapping'],
    ['ports: {a: b}', '4:12 services.web.ports: This is a mapping. Write a list.'],
    ['image:\n    user: x', '4:5 services.web.image: The key is there twice.'],
  ])('refuses by name and line: %s', async (keys, expected) => {
    expect(problemsOf(await service(keys)).join('\n')).toContain(expected)
  })

  it('needs an image', async () => {
    expect(problemsOf(await check('services: {web: {user: x}}'))).toEqual([
      '1:17 services.web: The service has no image. Add "image".',
    ])
  })

  it('shows every problem at once', async () => {
    expect(problemsOf(await service('pid: host\n    uts: host\n    ipc: host'))).toHaveLength(3)
  })

  it('has no plan beside a problem', async () => {
    expect((await service('pid: host')).plan).toBeNull()
    expect(await problemIn('user: x')).toBeUndefined()
  })
})

describe('the gateway', () => {
  const paths = async (services: string) =>
    (await check({ 'compose.yaml': `name: shop\nservices:\n${services}` })).plan?.services.map(
      ({ name, isBehindGateway, env }) => [name, isBehindGateway, env['MCM.BASE_API_PATH'], env['MCM.PORT']],
    )

  it('leads to the first HTTP port, at the name of the app', async () => {
    expect(
      await paths('  db: {image: x, ports: ["5432:5432"]}\n  web: {image: x, ports: ["9:9", "8080:80"]}\n'),
    ).toEqual([
      ['db', false, undefined, undefined],
      ['web', true, '/shop', '80'],
    ])
  })

  it('leads to the service with the label', async () => {
    const label = 'labels: {dev.selvedge.base-path: /shop, dev.selvedge.port: "9000"}'
    expect(await paths(`  web: {image: x, ports: ["8080:80"]}\n  api: {image: x, ${label}}\n`)).toEqual([
      ['web', true, '/shop-web', '80'],
      ['api', true, '/shop', '9000'],
    ])
  })

  it('has no path for a service with the label `none`', async () => {
    expect(
      await paths(`  web: {image: x, ports: ["80:80"], labels: [dev.selvedge.base-path=${nothing}]}\n`),
    ).toEqual([['web', false, undefined, undefined]])
  })

  it('does not share a path', async () => {
    const labelled = '{image: x, labels: [dev.selvedge.base-path=/a]}'
    expect(problemsOf(await check(`services:\n  a: ${labelled}\n  b: ${labelled}\n`))[0]).toContain(
      'The path "/a" is that of the service "a".',
    )
  })
})

describe('order', () => {
  it('is that of the dependencies', async () => {
    const checked = await check(
      'services:\n  a: {image: x, depends_on: [b, c]}\n  b: {image: x, depends_on: {c: {condition: service_healthy}}}\n  c: {image: x}\n',
    )
    expect(checked.plan!.services.map(({ name }) => name)).toEqual(['c', 'b', 'a'])
    expect(checked.plan!.services[1]!.dependsOn).toEqual([
      { service: 'c', condition: 'healthy', isRequired: true },
    ])
  })

  it('has no circle', async () => {
    const checked = await check(
      'services:\n  a: {image: x, depends_on: [b]}\n  b: {image: x, depends_on: [c]}\n  c: {image: x, depends_on: [a]}\n  d: {image: x, depends_on: [d]}\n',
    )
    expect(problemsOf(checked)).toEqual([
      expect.stringContaining('4:30 services.c.depends_on[0]: Services wait for each other: a → b → c → a.'),
      expect.stringContaining('5:30 services.d.depends_on[0]: Services wait for each other: d → d.'),
    ])
  })

  it('needs the services that it names', async () => {
    expect(await problemIn('depends_on: [db]')).toContain('There is no service "db".')
    expect(await problemIn('depends_on: {db: {required: false}}')).toBeUndefined()
  })
})

describe('profiles', () => {
  const text =
    'services:\n  web: {image: x, depends_on: {tool: {required: false}}}\n  tool: {image: x, profiles: [debug]}\n'

  it.each([
    [[], ['web']],
    [['debug'], ['tool', 'web']],
    [['*'], ['tool', 'web']],
    [['other'], ['web']],
  ])('%j chooses %j', async (profiles, names) => {
    expect((await check(text, { profiles })).plan!.services.map(({ name }) => name)).toEqual(names)
  })

  it('are named for a dependency that is in no chosen one', async () => {
    expect(problemsOf(await check(text.replace('{required: false}', '{}')))[0]).toContain(
      'The service "tool" is in no chosen profile.',
    )
  })
})

describe('files', () => {
  it('are merged with their override', async () => {
    const checked = await check({
      'compose.yaml': 'services: {web: {image: a, environment: [A=1]}}',
      'compose.override.yaml': 'services: {web: {image: b, environment: {B: "2"}}}',
    })
    expect(checked.files).toEqual(['compose.yaml', 'compose.override.yaml'])
    expect(serviceOf(checked)).toMatchObject({ image: 'b', env: { A: '1', B: '2' } })
  })

  it('are merged in the order of the command line', async () => {
    const files = {
      'a.yaml': 'services: {web: {image: a, user: u}}',
      'b.yaml': 'services: {web: {image: b}}',
    }
    expect(serviceOf(await check(files, { paths: ['a.yaml', 'b.yaml'] }))).toMatchObject({
      image: 'b',
      env: { 'MCM.USER': 'u' },
    })
    expect(serviceOf(await check(files, { paths: ['b.yaml', 'a.yaml'] })).image).toBe('a')
  })

  it('have variables of the environment, then of .env', async () => {
    const files = {
      'compose.yaml': 'services: {web: {image: "x:${A}-${B}", environment: [A, C]}}',
      '.env': 'A=1\nB=2\nC=3\n',
    }
    expect(serviceOf(await check(files, { env: { B: 'env' } }))).toMatchObject({
      image: 'x:1-env',
      env: { A: '1', C: '3' },
    })
    expect(serviceOf(await check({ ...files, other: 'A=5\n' }, { envFiles: ['other'] })).image).toBe('x:5-')
  })

  it('have notes for variables that are not set', async () => {
    expect(notesOf(await check('services: {web: {image: "x${NO}"}}'))).toEqual([
      'services.web.image: The variable NO is not set. Its text is empty.',
    ])
  })

  it('give variables to services; "environment" comes before "env_file", and a later file before an earlier one', async () => {
    const files = {
      'compose.yaml':
        'services: {web: {image: x, environment: {C: own}, env_file: [a.env, {path: sub/b.env}]}}',
      'a.env': 'A=a\nB=a\nC=a\n',
      'sub/b.env': "B='b'\n",
    }
    expect(serviceOf(await check(files)).env).toMatchObject({ A: 'a', B: 'b', C: 'own' })
  })

  it('are files of the app, from configs and from mounts', async () => {
    const files = {
      'compose.yaml':
        'services: {web: {image: x, configs: [one, {source: two, target: /etc/two, mode: 0o640, uid: "101", gid: 7}, four], volumes: ["./sub/three.conf:/etc/three:ro"]}}\nconfigs: {one: {content: "a ${B}"}, two: {file: ./two.txt}, four: {environment: B}, unused: {content: ""}}',
      'two.txt': '2',
      'sub/three.conf': '3',
    }
    const { plan } = await check(files, { env: { B: 'value' } })
    expect(plan!.configs).toEqual([
      { name: 'one', content: 'a value' },
      { name: 'two', content: '2' },
      { name: 'four', content: 'value' },
      { name: 'sub-three.conf', content: '3' },
    ])
    const root = { mode: '0444', uid: 0, gid: 0 }
    expect(plan!.services[0]!.configs).toEqual([
      { config: 'one', target: '/one', ...root },
      { config: 'two', target: '/etc/two', mode: '0640', uid: 101, gid: 7 },
      { config: 'four', target: '/four', ...root },
      { config: 'sub-three.conf', target: '/etc/three', ...root },
    ])
  })

  it.each([
    ['bytes that are not UTF-8', [0xff, 0xfe, 0x00]],
    ['a byte order mark', [0xef, 0xbb, 0xbf, 0x61]],
    ['a zero byte', [0x61, 0x00, 0x62]],
    ['an overlong form', [0xc0, 0x80]],
    ['half a pair', [0xed, 0xa0, 0x80]],
  ])('are sent byte for byte, also with %s', async (_, bytes) => {
    const files = {
      'compose.yaml':
        'services: {web: {image: x, configs: [one], volumes: ["./two:/two:ro"]}}\nconfigs: {one: {file: ./one}}',
      one: Buffer.from(bytes),
      two: Buffer.from([...bytes, 0x0a]),
    }
    const { plan } = await check(files)
    expect(plan!.configs).toEqual([
      { name: 'one', content: Buffer.from(bytes).toString('base64'), encoding: 'base64' },
      { name: 'two', content: Buffer.from([...bytes, 0x0a]).toString('base64'), encoding: 'base64' },
    ])
  })

  it('have the limits of their bytes, and not of their base64', async () => {
    const text =
      'services: {web: {image: x, configs: [one]}}\nconfigs: {one: {file: ./one}, two: {content: x}}'
    const one = (length: number) => ({ 'compose.yaml': text, one: Buffer.alloc(length, 0xff) })
    expect((await check(one(128 * 1024))).problems).toEqual([])
    expect(problemsOf(await check(one(128 * 1024 + 1))).join()).toContain('It has more than')
  })

  it('may be programs, if the file beside the Compose file is one', async () => {
    const files = {
      'compose.yaml': 'services: {web: {image: x, volumes: ["./run.sh:/run.sh:ro", "./data:/data:ro"]}}',
      'run.sh': '#!/bin/sh\n',
      data: '',
    }
    const { plan } = await check(files, { prepare: (folder) => chmodSync(join(folder, 'run.sh'), 0o755) })
    expect(plan!.services[0]!.configs.map(({ target, mode }) => [target, mode])).toEqual([
      ['/run.sh', '0555'],
      ['/data', '0444'],
    ])
  })

  it.each(['440', '8444', '4755', '0448', 'rw'])('have no permissions %j', async (mode) => {
    const text = `services: {web: {image: x, configs: [{source: one, mode: "${mode}"}]}}\nconfigs: {one: {content: x}}`
    expect(problemsOf(await check(text))[0]).toContain('permissions in octal digits')
  })

  it('are where a secret comes from, and its value is not in the plan', async () => {
    const files = {
      'compose.yaml':
        'services: {web: {image: x, secrets: [a, {source: b, target: key}, c]}}\nsecrets: {a: {file: ./a.txt}, b: {environment: B}, c: {external: true, name: of-project}}',
      'a.txt': 'hunter2',
    }
    const { plan } = await check(files, { env: { B: 'hunter3' } })
    expect(plan!.secrets).toEqual([
      { name: 'a', from: 'file', path: 'a.txt' },
      { name: 'b', from: 'environment', variable: 'B' },
      { name: 'c', from: 'project', secret: 'of-project' },
    ])
    expect(plan!.services[0]!.secrets).toEqual([
      { secret: 'a', file: 'a' },
      { secret: 'b', file: 'key' },
      { secret: 'c', file: 'c' },
    ])
    expect(JSON.stringify(plan)).not.toContain('hunter')
  })
})

describe('extends', () => {
  it('begins with another service, of the file or of one below the folder', async () => {
    const files = {
      'compose.yaml':
        'services:\n  base: {image: a, user: u, depends_on: [db]}\n  web: {extends: base, image: b}\n  far: {extends: {file: sub/more.yaml, service: far}}\n  db: {image: x}\n',
      'sub/more.yaml': 'services: {far: {extends: near, user: v}, near: {image: n, env_file: far.env}}',
      'sub/far.env': 'WHERE=sub\n',
    }
    const { plan } = await check(files)
    const byName = new Map(plan!.services.map((each) => [each.name, each]))
    expect(byName.get('web')).toMatchObject({
      image: 'b',
      env: { 'MCM.USER': 'u' },
      dependsOn: [{ service: 'db' }],
    })
    expect(byName.get('far')).toMatchObject({ image: 'n', env: { 'MCM.USER': 'v', WHERE: 'sub' } })
  })

  it.each([
    ['web: {extends: web}', 'extends itself'],
    ['web: {extends: a}\n  a: {extends: web}', 'extends itself'],
    ['web: {extends: no}', 'There is no service "no".'],
    ['web: {extends: {file: ../out.yaml, service: web}}', '"../out.yaml": It is not in the folder'],
    ['web: {extends: {file: /etc/passwd, service: web}}', '"/etc/passwd": It is not in the folder'],
    ['web: {extends: {file: no.yaml, service: web}}', 'there is no such file'],
    ['web: {extends: {file: other.yaml, service: web}}', 'extends itself'],
    ['web: {extends: []}', 'Write the name of a service'],
  ])('refuses %s', async (services, message) => {
    const checked = await check({
      'compose.yaml': `services:\n  ${services}\n`,
      'other.yaml': 'services: {web: {extends: {file: other.yaml, service: web}}}',
      '../out.yaml': 'services: {web: {image: x}}',
    })
    expect(problemsOf(checked).join('\n')).toContain(message)
  })

  it('has a limit', async () => {
    const lines = Array.from({ length: 20 }, (_, at) => `  s${at}: {image: x, extends: s${at + 1}}\n`).join(
      '',
    )
    expect(problemsOf(await check(`services:\n${lines}  s20: {image: x}\n`))[0]).toContain(
      'More than 8 services extend each other.',
    )
  })
})

it('keeps the capabilities that are added after all were dropped', async () => {
  expect(
    serviceOf(
      await service(
        '{cap_drop: [ALL], cap_add: [CAP_CHOWN]}'.slice(1, -1).replace(', cap_add', '\n    cap_add'),
      ),
    ),
  ).toMatchObject({
    dropCapabilities: ['ALL'],
    addCapabilities: ['CHOWN'],
  })
})
