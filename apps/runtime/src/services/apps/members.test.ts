/** What a plan becomes, and what is refused with its path instead of being left out. */
import { hash } from 'node:crypto'
import { type AppPlan, type AppService, appPlan, outboundWords } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { plan, service } from '../../../../../tests/harness/app-device.ts'
import { ownArchitecture } from '../images/manifest.ts'
import { readMembers } from './members.ts'

const file = (target: string) => ({ config: 'c', target, mode: '0444', uid: 0, gid: 0 })
const withFiles = (more: Partial<AppService>, content = '') =>
  plan('shop', [service('web', more)], { configs: [{ name: 'c', content }] })

const refusalOf = (wanted: AppPlan): string => {
  try {
    readMembers(wanted)
    return 'accepted'
  } catch (cause) {
    return (cause as Error).message
  }
}

it.each<[string, string[], Record<string, string>, string | undefined]>([
  ['on internal networks alone has no way out', ['back', 'vault'], {}, outboundWords.none],
  ['on another network, too, has the usual one', ['back', 'front'], {}, undefined],
  ['without networks has the usual one', [], {}, undefined],
  ['that lists what it reaches has that', ['back'], { 'MCM.OUTBOUND': 'api.test' }, 'api.test'],
])('a member %s', (_, networks, env, expected) => {
  const on = networks.map((network) => ({ network, aliases: [] }))
  const wanted = plan('shop', [service('db', { env, networks: on })], { networks: withInternal })
  expect(readMembers(wanted)[0]!.spec.env['MCM.OUTBOUND']).toBe(expected)
})

it('a member on internal networks alone is not put into another network', () => {
  const env = { 'MCM.NETWORK': 'open' }
  const networks = [{ network: 'back', aliases: [] }]
  expect(refusalOf(plan('shop', [service('db', { env, networks })], { networks: withInternal }))).toContain(
    'expected "isolated"',
  )
})

const withInternal = [
  { name: 'back', isInternal: true },
  { name: 'vault', isInternal: true },
  { name: 'front', isInternal: false },
]

it('a member gets its settings from the parts of the plan', () => {
  const wanted = plan(
    'shop',
    [
      service('db', {
        env: { X: '1', 'MCM.MEMORY_MB': '64' },
        networks: [{ network: 'back', aliases: ['sql'] }],
        volumes: [
          { volume: 'data', target: '/data', isReadOnly: false },
          { volume: 'Other.Name', target: '/other', isReadOnly: false },
          { volume: null, target: '/tmp/x', isReadOnly: false },
        ],
        secrets: [
          { secret: 'password', file: 'password' },
          { secret: 'shared', file: 'key.pem' },
        ],
      }),
    ],
    {
      networks: [{ name: 'back', isInternal: true }],
      volumes: [{ name: 'data' }, { name: 'Other.Name' }],
      secrets: [
        { name: 'password', from: 'file', path: './password' },
        { name: 'shared', from: 'project', secret: 'tls' },
      ],
    },
  )
  const [member] = readMembers(wanted)
  expect(member).toEqual({
    retries: null,
    appVolumes: [],
    spec: {
      name: 'shop-db',
      image: 'i',
      env: {
        X: '1',
        'MCM.MEMORY_MB': '64',
        'MCM.OUTBOUND': outboundWords.none,
        'MCM.GATEWAY': 'off',
        'MCM.VOLUMES': expect.stringMatching(
          /^data:\/data, v-[0-9a-f]{16}:\/other, v-[0-9a-f]{16}:\/tmp\/x$/,
        ),
        'MCM.SECRETS': 'shop.password:/run/secrets/password, tls:/run/secrets/key.pem',
      },
    },
    stored: {
      service: 'db',
      networks: [{ network: 'back', aliases: ['sql'] }],
      dependsOn: [],
      volumes: ['data', 'Other.Name'],
    },
  })
})

describe('a plan is refused', () => {
  const one = (more: Partial<AppService>, parts: Partial<AppPlan> = {}) =>
    plan('shop', [service('web', more)], parts)
  const volume = (name: string) => ({ volume: name, target: `/${name}`, isReadOnly: false })
  const waiting = (condition: 'healthy' | 'completed', isRequired = true) =>
    plan('shop', [service('web', { dependsOn: [{ service: 'db', condition, isRequired }] })])
  const waitingFor = (condition: 'healthy' | 'completed', restart: 'always' | 'on-failure') =>
    plan('shop', [
      service('db', { restart }),
      service('web', { dependsOn: [{ service: 'db', condition, isRequired: true }] }),
    ])

  it.each<[string, AppPlan, string]>([
    ['another platform', one({ platform: 'linux/s390x' }), 'plan.services[0].platform: web: '],
    ...(['no', 'on-failure'] as const).flatMap((restart): [string, AppPlan, string][] => [
      [
        `a path for what runs once (${restart})`,
        one({ restart, isBehindGateway: true }),
        `plan.services[0].isBehindGateway: web: with the restart "${restart}" it runs once, and serves nothing`,
      ],
      ...Object.entries({
        'MCM.PORTS': '1883/tcp',
        'MCM.HEALTH_PATH': '/health',
        'MCM.CRON': '0 3 * * *',
        'MCM.READY': 'tcp',
      }).map(([setting, value]): [string, AppPlan, string] => [
        `${setting} for what runs once (${restart})`,
        one({ restart, env: { [setting]: value } }),
        `plan.services[0].env["${setting}"]: web: with the restart "${restart}" it runs once`,
      ]),
    ]),
    ['further capabilities', one({ addCapabilities: ['SYS_ADMIN'] }), 'plan.services[0].addCapabilities: '],
    [
      'an unknown file',
      one({ configs: [file('/x')] }),
      'plan.services[0].configs[0]: the app has no config "c"',
    ],
    ...['/proc/x', '/dev/x', '/run/secrets/x', '/run/selvedge/host', '/etc/hosts', '/etc/resolv.conf'].map(
      (target): [string, AppPlan, string] => [
        `a file at ${target}`,
        withFiles({ configs: [file(target)] }),
        `plan.services[0].configs[0]: web: the file "${target}" cannot be replaced`,
      ],
    ),
    [
      'two files at one path',
      withFiles({ configs: [file('/x'), file('/x')] }),
      'plan.services[0].configs[1]: web: the file "/x" is there twice',
    ],
    [
      'a file in a file',
      withFiles({ configs: [file('/x'), file('/x/y')] }),
      'plan.services[0].configs[1]: web: "/x" is a file, and has no "/x/y" in it',
    ],
    [
      'a file above another one',
      withFiles({ configs: [file('/x/y'), file('/x')] }),
      'plan.services[0].configs[1]: web: the file "/x" would be the folder of "/x/y"',
    ],
    [
      'a file in place of a volume',
      withFiles({ configs: [file('/x')], volumes: [{ volume: null, target: '/x', isReadOnly: false }] }),
      'plan.services[0].configs[0]: web: "/x" is a folder of the service already',
    ],
    [
      'a file in place of memory',
      withFiles({ configs: [file('/x')], env: { 'MCM.TMPFS': '/x:8' } }),
      'plan.services[0].configs[0]: web: "/x" is a folder of the service already',
    ],
    [
      'a file in place of a folder of the device',
      withFiles({ configs: [file('/x')], env: { 'MCM.MOUNTS': '/srv:/x/y' } }),
      'plan.services[0].configs[0]: web: the file "/x" would be the folder of "/x/y"',
    ],
    [
      'a file that is too large',
      withFiles({}, 'ü'.repeat(65_537)),
      'plan.configs[0]: it has 131074 bytes; the limit is 131072',
    ],
    [
      'files that are too large together',
      one({}, { configs: ['x', 'y', 'z'].map((name) => ({ name, content: 'x'.repeat(65_537) })) }),
      'plan.configs: all of them have 196611 bytes; the limit is 196608',
    ],
    [
      'files of a service that are too large together',
      withFiles({ configs: Array.from({ length: 9 }, (_, at) => file(`/x${at}`)) }, 'x'.repeat(131_072)),
      'plan.services[0].configs: web: its files have 1179648 bytes; the limit is 1048576',
    ],
    [
      'more files than a container has',
      withFiles({ configs: Array.from({ length: 65 }, (_, at) => file(`/x${at}`)) }),
      'plan.services[0]: its parts give MCM.CONFIGS',
    ],
    ...(
      [
        ['a volume in a folder of files', { volumes: [{ volume: null, target: '/f/v', isReadOnly: false }] }],
        [
          'a folder of files in place of a volume',
          { volumes: [{ volume: null, target: '/f', isReadOnly: false }] },
        ],
        ['memory in a folder of files', { env: { 'MCM.TMPFS': '/f/m:8' } }],
        ['a folder of the device in a folder of files', { env: { 'MCM.MOUNTS': '/srv:/f/m' } }],
      ] as const
    ).map(([what, more]): [string, AppPlan, string] => [
      what,
      withFiles({ configs: [file('/f/x')], configFolders: ['/f'], ...(more as Partial<AppService>) }),
      'plan.services[0].configFolders[0]: web: "/f',
    ]),
    ...['/proc', '/etc', '/run', '/run/secrets'].map((folder): [string, AppPlan, string] => [
      `the folder ${folder} with nothing but files`,
      withFiles({ configs: [file(`${folder}/x`)], configFolders: [folder] }),
      'plan.services[0]',
    ]),
    [
      'a folder without a file',
      withFiles({ configs: [file('/fx')], configFolders: ['/f'] }),
      'plan.services[0].configFolders[0]: web: no file is in the folder "/f"',
    ],
    [
      'folders in each other',
      withFiles({ configs: [file('/f/g/x')], configFolders: ['/f', '/f/g'] }),
      'plan.services[0]: its parts give MCM.CONFIG_FOLDERS',
    ],
    [
      'a folder of files as a setting',
      one({ env: { 'MCM.CONFIG_FOLDERS': '/f' } }),
      'plan.services[0].env["MCM.CONFIG_FOLDERS"]: ',
    ],
    ['files as a setting', one({ env: { 'MCM.CONFIGS': '' } }), 'plan.services[0].env["MCM.CONFIGS"]: '],
    [
      'two services of one name',
      plan('shop', [service('web'), service('web')]),
      'plan.services[1].name: "web" is there twice',
    ],
    [
      'a wait for the completion of a service',
      waitingFor('completed', 'always'),
      'plan.services[1].dependsOn[0]: web waits until db has completed, which is always started again',
    ],
    [
      'a wait for the health of what runs once',
      waitingFor('healthy', 'on-failure'),
      'plan.services[1].dependsOn[0]: web waits until db is healthy, which runs once',
    ],
    [
      'a wait for the completion of what is not before it',
      waiting('completed'),
      'plan.services[0].dependsOn[0]: web depends on "db"',
    ],
    ['a dependency that is not before it', waiting('healthy'), 'plan.services[0].dependsOn[0]: '],
    [
      'an unknown network',
      one({ networks: [{ network: 'x', aliases: [] }] }),
      'plan.services[0].networks[0]: ',
    ],
    ['an unknown volume', one({ volumes: [volume('x')] }), 'plan.services[0].volumes[0]: '],
    ...['/proc', '/sys/fs', '/dev/shm', '/run/secrets', '/run/selvedge/x', '/etc/hosts'].map(
      (target): [string, AppPlan, string] => [
        `a volume at ${target}`,
        one({ volumes: [{ volume: null, target, isReadOnly: false }] }),
        'plan.services[0].volumes[0]: ',
      ],
    ),
    [
      'memory at a folder of the kernel',
      one({ env: { 'MCM.TMPFS': '/proc:8' } }),
      'plan.services[0].env["MCM.TMPFS"]: ',
    ],
    [
      'two services at one path',
      plan(
        'shop',
        ['a', 'b'].map((name) =>
          service(name, { isBehindGateway: true, env: { 'MCM.BASE_API_PATH': '/x' } }),
        ),
      ),
      'plan.services[1].env["MCM.BASE_API_PATH"]: the path /x is of a, too',
    ],
    [
      'two services with one port of the device',
      plan(
        'shop',
        ['a', 'b'].map((name) => service(name, { env: { 'MCM.PORTS': '1883/tcp' } })),
      ),
      'plan.services[1].env["MCM.PORTS"]: the port 1883/tcp is of a, too',
    ],
    [
      'a member of a network that is in that of the device',
      plan(
        'shop',
        ['a', 'b'].map((name) =>
          service(name, {
            networks: [{ network: 'x', aliases: [] }],
            env: { 'MCM.NETWORK': name === 'b' ? 'host' : 'isolated' },
          }),
        ),
        { networks: [{ name: 'x', isInternal: false }] },
      ),
      'plan.services[1].env["MCM.NETWORK"]: b has networks of the app',
    ],
    [
      'more than the limit of its bytes',
      plan(
        'shop',
        Array.from({ length: 9 }, (_, at) => service(`s${at}`, { env: { X: 'x'.repeat(30_000) } })),
      ),
      'plan: the plan has ',
    ],
    [
      'more names than the runtime stores',
      plan(
        'shop',
        Array.from({ length: 64 }, (_, at) =>
          service(`s${at}`, { networks: [{ network: 'x', aliases: Array(16).fill('a'.repeat(63)) }] }),
        ),
        { networks: [{ name: 'x', isInternal: false }] },
      ),
      'plan: the names and networks of the services have ',
    ],
    [
      'a volume twice in one member',
      one(
        { volumes: [volume('x'), { volume: 'x', target: '/y', isReadOnly: false }] },
        { volumes: [{ name: 'x' }] },
      ),
      'plan.services[0].volumes[1]: web has the volume "x" twice',
    ],
    [
      'shared volumes as a setting',
      one({ env: { 'MCM.APP_VOLUMES': 'other/x:/x' } }),
      'plan.services[0].env["MCM.APP_VOLUMES"]: ',
    ],
    [
      'two volumes in one folder',
      one(
        { volumes: [volume('x'), { volume: null, target: '/x', isReadOnly: false }] },
        { volumes: [{ name: 'x' }] },
      ),
      'plan.services[0].volumes[1]: web: the folder "/x" is a volume already, or in memory',
    ],
    [
      'a volume in a folder in memory',
      one({ volumes: [volume('x')], env: { 'MCM.TMPFS': '/y, /x:16' } }, { volumes: [{ name: 'x' }] }),
      'plan.services[0].volumes[0]: web: the folder "/x" is a volume already, or in memory',
    ],
    ['an unknown secret', one({ secrets: [{ secret: 'x', file: 'x' }] }), 'plan.services[0].secrets[0]: '],
    [
      'a secret with too long a name',
      one(
        { secrets: [{ secret: 'x'.repeat(63), file: 'x' }] },
        { secrets: [{ name: 'x'.repeat(63), from: 'file', path: 'x' }] },
      ),
      'plan.services[0].secrets[0]: ',
    ],
    [
      'volumes as a setting',
      one({ env: { 'MCM.VOLUMES': 'x:/x' } }),
      'plan.services[0].env["MCM.VOLUMES"]: ',
    ],
    ['an unknown setting', one({ env: { 'MCM.NOTHING': 'x' } }), 'plan.services[0].env["MCM.NOTHING"]: '],
    [
      'a setting named as an object has one',
      one({ env: { 'MCM.constructor': 'x' } }),
      'plan.services[0].env',
    ],
    [
      'a wrong value of a setting',
      one({ env: { 'MCM.CPU': 'x' } }),
      'plan.services[0].env["MCM.CPU"]: expected ',
    ],
    [
      'a path without the gateway',
      one({ env: { 'MCM.BASE_API_PATH': '/x' } }),
      'plan.services[0].isBehindGateway: ',
    ],
    ['too many variables', one({ env: { X: 'x'.repeat(40_000) } }), 'plan.services[0].env: '],
    [
      'more volumes than a container has',
      one(
        { volumes: [volume('x'), { volume: 'y', target: `/${'y'.repeat(199)}/z`, isReadOnly: false }] },
        { volumes: [{ name: 'x' }, { name: 'y' }] },
      ),
      'plan.services[0]: its parts give MCM.VOLUMES',
    ],
  ])('with %s', (_, wanted, expected) => {
    expect(refusalOf(wanted)).toContain(expected)
  })

  it('with names that objects have', () => {
    for (const name of ['__proto__', 'constructor', 'toString'])
      expect(
        appPlan.safeParse(plan('shop', [service('web', { networks: [{ network: name, aliases: [] }] })]))
          .success,
      ).toBe(name !== '__proto__')
    const wanted = one({
      networks: [{ network: 'constructor', aliases: [] }],
      secrets: [{ secret: 'toString', file: 'x' }],
    })
    expect(refusalOf(wanted)).toContain('plan.services[0].')
  })
})

describe('a member', () => {
  const envOf = (more: Partial<AppService>, parts: Partial<AppPlan> = {}) =>
    readMembers(plan('shop', [service('web', { isBehindGateway: true, env: {}, ...more })], parts))[0]!.spec
      .env

  it.each<[string, Partial<AppService>, Record<string, string>]>([
    ['has the host name of the plan', { hostname: 'other' }, { 'MCM.HOSTNAME': 'other' }],
    ['may be of the platform of the device', { platform: `linux/${ownArchitecture()}` }, {}],
    ['may be of a variant of that platform', { platform: `linux/${ownArchitecture()}/v8` }, {}],
    ['has an init in any case', { needsInit: true }, {}],
    ['loses all capabilities', { dropCapabilities: ['ALL'] }, { 'MCM.CAPABILITIES': '' }],
    [
      'keeps capabilities that are added after all were dropped',
      { dropCapabilities: ['ALL'], addCapabilities: ['SETUID', 'CHOWN'] },
      { 'MCM.CAPABILITIES': 'CHOWN, SETUID' },
    ],
    [
      'loses single capabilities',
      { dropCapabilities: ['SETFCAP', 'SETPCAP', 'KILL', 'FSETID', 'FOWNER', 'DAC_OVERRIDE'] },
      { 'MCM.CAPABILITIES': 'CHOWN, NET_BIND_SERVICE, SETGID, SETUID, SYS_CHROOT' },
    ],
    ['never has what is not in the profile', { dropCapabilities: ['NET_RAW', 'MKNOD'] }, {}],
    ['has what is in the profile in any case', { addCapabilities: ['CHOWN'] }, {}],
  ])('%s', (_, more, expected) => {
    expect(envOf(more)).toEqual(expected)
  })

  it('may have a volume that it cannot write', () => {
    const volumes = [{ volume: 'x', target: '/x', isReadOnly: true }]
    expect(envOf({ volumes }, { volumes: [{ name: 'x' }] })).toEqual({ 'MCM.VOLUMES': 'x:/x:ro' })
  })
})

describe('a volume that several members have', () => {
  const mounted = (target: string, isReadOnly = false) => ({ volume: 'Files', target, isReadOnly })
  const shared = (own: Partial<AppService>, more: Partial<AppPlan> = {}) =>
    plan('shop', [service('a', { volumes: [mounted('/a')] }), service('b', own)], {
      volumes: [{ name: 'Files' }, { name: 'own' }],
      ...more,
    })

  it('belongs to the app, and each member has it at its own path with its own right to write', () => {
    const own = { volume: 'own', target: '/own', isReadOnly: false }
    const [a, b] = readMembers(shared({ volumes: [mounted('/b', true), own] }))
    const name = /^shop\/v-[0-9a-f]{16}:/.exec(a!.spec.env['MCM.APP_VOLUMES']!)![0]
    expect(a).toMatchObject({ appVolumes: ['Files'], stored: { volumes: [] } })
    expect(b).toMatchObject({ appVolumes: ['Files'], stored: { volumes: ['own'] } })
    expect(a!.spec.env).toEqual({ 'MCM.GATEWAY': 'off', 'MCM.IDLE_SEC': '0', 'MCM.APP_VOLUMES': `${name}/a` })
    expect(b!.spec.env).toMatchObject({ 'MCM.APP_VOLUMES': `${name}/b:ro`, 'MCM.VOLUMES': 'own:/own' })
  })

  it('stays a volume of the app when one member is left', () => {
    const left = plan('shop', [service('a', { volumes: [mounted('/a')] })], { volumes: [{ name: 'Files' }] })
    expect(readMembers(left, new Map(), ['Files', 'gone'])[0]).toMatchObject({
      appVolumes: ['Files'],
      stored: { volumes: [] },
    })
    expect(readMembers(left)[0]).toMatchObject({ appVolumes: [], stored: { volumes: ['Files'] } })
  })

  it.each<[string, Partial<AppService>]>([
    ['a volume', { volumes: [mounted('/x'), { volume: 'own', target: '/x/y', isReadOnly: false }] }],
    ['a file', { volumes: [mounted('/x')], configs: [file('/x/y')] }],
    ['a folder in memory', { volumes: [mounted('/x')], env: { 'MCM.TMPFS': '/x/y:16' } }],
    ['a folder of the device', { volumes: [mounted('/x')], env: { 'MCM.MOUNTS': '/srv:/x/y' } }],
    ['secrets', { volumes: [mounted('/run')] }],
    ['files of the runtime', { volumes: [mounted('/etc')] }],
  ])('has nothing below it, such as %s: another member could put a link there', (_, own) => {
    const refusal = refusalOf(shared(own, { configs: [{ name: 'c', content: '' }] }))
    expect(refusal).toMatch(
      /^plan\.services\[1\]\.volumes\[0\]: b: services share the volume at "\/\w+", and /,
    )
  })
})

it('a member has files by the digests of their contents', () => {
  const wanted = withFiles({ configs: [{ ...file('/etc/x'), mode: '0640', uid: 101, gid: 7 }] }, 'text')
  const digest = hash('sha256', 'text', 'hex')
  expect(readMembers(wanted)[0]!.spec.env).toMatchObject({ 'MCM.CONFIGS': `${digest}:/etc/x:0640:101:7` })
})

it('a member has folders with nothing but files', () => {
  const wanted = withFiles({ configs: [file('/f/x'), file('/f/g/y')], configFolders: ['/f'] })
  expect(readMembers(wanted)[0]!.spec.env).toMatchObject({ 'MCM.CONFIG_FOLDERS': '/f' })
})

it('a dependency that is not required may be missing', () => {
  const wanted = plan('shop', [
    service('web', { dependsOn: [{ service: 'db', condition: 'healthy', isRequired: false }] }),
  ])
  expect(refusalOf(wanted)).toBe('accepted')
})

describe('a member that runs once', () => {
  const read = (more: Partial<AppService>) => {
    const [member] = readMembers(plan('shop', [service('migrate', more)]))
    return { ...member!.spec.env, retries: member!.retries }
  }

  it('listens on no port, and has ten minutes, unless its plan sets another time', () => {
    expect(read({ restart: 'no' })).toMatchObject({ 'MCM.READY': 'none', 'MCM.HEALTH_SEC': '600' })
    expect(read({ restart: 'no', env: { 'MCM.HEALTH_SEC': '5' } })).toMatchObject({ 'MCM.HEALTH_SEC': '5' })
    expect(read({ restart: 'always' })).not.toHaveProperty(['MCM.READY'])
  })

  it.each([
    ['no', null, 0],
    ['no', 3, 0],
    ['on-failure', null, 5],
    ['on-failure', 3, 3],
    ['always', null, null],
  ] as const)(
    'with the restart %j and the number %j starts again %j times',
    (restart, maxRestarts, retries) => {
      expect(read({ restart, maxRestarts }).retries).toBe(retries)
    },
  )
})
