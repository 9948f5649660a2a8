import { describe, expect, it } from 'vitest'
import { type containerSettings, readSettings } from './settings.ts'

const digest = 'ab'.repeat(32)

type Name = keyof typeof containerSettings

const read = (name: Name, text: string) => readSettings({ [name]: text })[name]
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

describe('a setting of containers reads', () => {
  it.each<[Name, string, unknown]>([
    ['MCM.COMMAND', '["sh","-c","echo \\n-x"]', ['sh', '-c', 'echo \n-x']],
    ['MCM.ARGS', '[]', []],
    ['MCM.ARGS', ' ["--port", "80"] ', ['--port', '80']],
    ['MCM.ARGS', '[""]', ['']],
    ['MCM.USER', 'www-data', 'www-data'],
    ['MCM.USER', '0:0', '0:0'],
    ['MCM.USER', '65535:users', '65535:users'],
    ['MCM.WORKDIR', '/', '/'],
    ['MCM.WORKDIR', '/srv/my-app_1.0', '/srv/my-app_1.0'],
    ['MCM.STOP_SIGNAL', 'SIGINT', 'SIGINT'],
    ['MCM.STOP_SIGNAL', 'SIGRTMIN+3', 'SIGRTMIN+3'],
    ['MCM.STOP_SEC', '300', 300],
    ['MCM.ROOT', 'read-only', 'read-only'],
    ['MCM.ROOT_MB', '1', 1],
    ['MCM.TMPFS', '/cache, /var/x:16', ['/cache', '/var/x:16']],
    ['MCM.SHM_MB', '256', 256],
    ['MCM.HOSTNAME', 'db.local', 'db.local'],
    ['MCM.CAPABILITIES', 'SETUID, CHOWN', ['SETUID', 'CHOWN']],
    ['MCM.CAPABILITIES', '', []],
    ['MCM.VOLUMES', 'a:/a, b:/b:ro', ['a:/a', 'b:/b:ro']],
    ['MCM.HOSTS', 'db=10.0.0.5, CACHE.local=fd00::1', ['db=10.0.0.5', 'cache.local=fd00::1']],
    ['MCM.READY', 'http', 'http'],
    ['MCM.READY', 'grpc', 'grpc'],
    ['MCM.PROTOCOL', 'h2c', 'h2c'],
    ['MCM.READY', 'log:ready to accept: yes', 'log:ready to accept: yes'],
    [
      'MCM.SECRETS',
      'db-password, tls.key:/run/secrets/key.pem',
      ['db-password', 'tls.key:/run/secrets/key.pem'],
    ],
    ['MCM.SECRETS', '', []],
    ['MCM.SECRETS_SIGNAL', 'SIGHUP', 'SIGHUP'],
    ['MCM.CONFIGS', `${digest}:/etc/x:0440:101:65535`, [`${digest}:/etc/x:0440:101:65535`]],
    [
      'MCM.DEVICES',
      '/dev/ttyUSB0, gpu,/dev/serial/by-id/usb-u-blox_AG-if00',
      ['/dev/ttyUSB0', 'gpu', '/dev/serial/by-id/usb-u-blox_AG-if00'],
    ],
    ['MCM.MOUNTS', '/srv/media:/media, /a:/b:rw', ['/srv/media:/media', '/a:/b:rw']],
    ['MCM.NETWORK', 'host', 'host'],
  ])('%s %j', (name, text, value) => expect(read(name, text)).toEqual(value))

  it('the defaults of public images', () => {
    const settings = readSettings({})
    expect(settings['MCM.ROOT']).toBe('writable')
    expect(settings['MCM.ROOT_MB']).toBe(256)
    expect(settings['MCM.STOP_SEC']).toBe(10)
    expect(settings['MCM.SHM_MB']).toBe(64)
    expect(settings['MCM.PROTOCOL']).toBe('http/1.1')
    for (const name of ['COMMAND', 'ARGS', 'USER', 'WORKDIR', 'STOP_SIGNAL', 'READY'] as const)
      expect(settings[`MCM.${name}`]).toBeUndefined()
  })
})

describe('a setting of containers refuses', () => {
  const lists: [Name, string][] = (['MCM.COMMAND', 'MCM.ARGS', 'MCM.HEALTH_CMD'] as const).flatMap((name) =>
    [
      '',
      'sh -c true',
      '"sh"',
      'null',
      '{}',
      '{"0":"sh","length":1}',
      '[1]',
      '[null]',
      '[["sh"]]',
      '["sh"',
      '["a\\u0000b"]',
      '["a\u0000b"]',
      nested(3),
      nested(10_000),
      nested(1_000_000),
      JSON.stringify(['x'.repeat(40_000)]),
      JSON.stringify(Array.from({ length: 257 }, () => 'x')),
    ].map((text): [Name, string] => [name, text]),
  )
  const others: [Name, string[]][] = [
    ['MCM.COMMAND', ['[]', '[""]', '["","x"]']],
    [
      'MCM.USER',
      [
        '',
        '-root',
        ':',
        'root:',
        ':root',
        'a b',
        'a\n',
        'a\u0000',
        '65536',
        '0:65536',
        '4294967295',
        '../x',
        'a:b:c',
        'x'.repeat(40),
        '-1',
      ],
    ],
    [
      'MCM.WORKDIR',
      [
        '',
        'srv',
        './x',
        '/a/../b',
        '/..',
        '/a/./b',

        '//a',
        '/a/',
        '/a b',
        '/a\n',
        '/a\u0000b',
        '/-/../x',
        `/${'x'.repeat(300)}`,
      ],
    ],
    [
      'MCM.STOP_SIGNAL',
      ['', 'SIGSTOP', 'SIGCONT', 'TERM', '15', '-9', 'SIGTERM ', 'sigterm', 'SIGTERM\n', 'SIGRTMIN+64'],
    ],
    ['MCM.STOP_SEC', ['0', '301', '-1', '1e2', '1e999', 'NaN', '', '10s', '10\n']],
    ['MCM.ROOT', ['', 'Writable', 'true', 'writable ']],
    ['MCM.ROOT_MB', ['0', '-1', '1048577', '1e9', '99999999999999999999', '256M', '']],
    ['MCM.HOSTNAME', ['', '-a', 'a-', 'a b', 'a\n', 'a\u0000', '../a', 'x'.repeat(64), 'ä']],
    ['MCM.CAPABILITIES', ['ALL', 'SYS_ADMIN', 'NET_RAW', 'CAP_CHOWN', 'chown', 'CHOWN CHOWN', 'CHOWN:KILL']],
    ['MCM.VOLUMES', ['a:/a:rw', 'a:/a:ro:ro', 'a:/a:', 'a:ro', 'a:/a:RO']],
    ['MCM.SHM_MB', ['0', '65537', '-64', '64m', '']],
    [
      'MCM.TMPFS',
      [
        'cache',
        '/',
        '/a/../b',
        '/.',
        '/a:0',
        '/a:-1',
        '/a:1e9',
        '/a:100000',
        '/a:rw',
        '/a:16:exec',
        '/a\u0000b',
        '-v',
        Array.from({ length: 17 }, (_, at) => `/f${at}`).join(','),
      ],
    ],
    [
      'MCM.HOSTS',
      [
        'db',
        'db=',
        '=10.0.0.1',
        'db=10.0.0',
        'db=10.0.0.256',
        'db=1.2.3.4.5',
        'db=host',
        'db=:::',
        'db=1::2::3',
        'db=%eth0',
        '-db=10.0.0.1',
        'a\u0000b=10.0.0.1',
        'db:10.0.0.1',
        'a/b=10.0.0.1',
        Array.from({ length: 65 }, (_, at) => `h${at}=10.0.0.1`).join(','),
      ],
    ],
    [
      'MCM.SECRETS',
      [
        'a b:c',
        '-x',
        '.x',
        '../x',
        'a/b',
        'a=b',
        'a:',
        'a:/etc/passwd',
        'a:/run/secrets/',
        'a:/run/secrets/..',
        'a:/run/secrets/../x',
        'a:/run/secrets/x/y',
        'a:/run/secrets/x:ro',
        'a:/run/secrets//x',
        'a,a',
        'a, b:/run/secrets/a',
        'a:/run/secrets/x, b:/run/secrets/x',
        'a\u0000',
        'ä',
        'x'.repeat(64),
        Array.from({ length: 33 }, (_, at) => `s${at}`).join(','),
      ],
    ],
    [
      'MCM.CONFIGS',
      [
        'a:/x:0444:0:0',
        `${digest}:/x:0444:0`,
        `${digest}:x:0444:0:0`,
        `${digest}:/x/../y:0444:0:0`,
        `${digest}:/proc/x:0444:0:0`,
        `${digest}:/etc/hosts:0444:0:0`,
        `${digest}:/x:4755:0:0`,
        `${digest}:/x:0448:0:0`,
        `${digest}:/x:0444:65536:0`,
        `${digest}:/x:0444:0:65536`,
        `${digest}:/x:0444:0:-1`,
        `${digest}:/x:0444:0:0:ro`,
        `${digest}:/x:0444:0:0, ${digest}:/x:0440:0:0`,
        `../${digest}:/x:0444:0:0`,
        Array.from({ length: 33 }, (_, at) => `${digest}:/x${at}:0444:0:0`).join(','),
      ],
    ],
    ['MCM.SECRETS_SIGNAL', ['', 'HUP', 'SIGKILL', 'SIGSTOP', '1', 'SIGHUP\n', 'sighup']],
    [
      'MCM.DEVICES',
      [
        'ttyUSB0',
        '/dev',
        '/dev/',
        '/dev/../etc/shadow',
        '/dev/./x',
        '/dev//x',
        '/etc/passwd',
        '/dev/tty*',
        '/dev/x\u0000y',
        'GPU',
        'nvidia.com/gpu=0',
        '/dev/a:/dev/b\u0001',
        '/dev/a,/dev/a',
        `/dev/${'x'.repeat(200)}`,
        Array.from({ length: 33 }, (_, at) => `/dev/x${at}`).join(','),
      ],
    ],
    [
      'MCM.MOUNTS',
      [
        '/srv',
        '/srv:',
        ':/srv',
        'srv:/srv',
        '/:/host',
        '/srv:/',
        '/srv/..:/x',
        '/srv:/x/../etc',
        '/srv:/x:rw:ro',
        '/srv:/x:exec',
        '/srv:/x:',
        '/srv//a:/x',
        '/srv/:/x',
        '/srv:/x,/other:/x',
        '/s\u0000:/x',
        Array.from({ length: 33 }, (_, at) => `/s${at}:/t${at}`).join(','),
      ],
    ],
    ['MCM.NETWORK', ['', 'Host', 'bridge', 'container:x', 'ns:/proc/1/ns/net']],
    [
      'MCM.READY',
      [
        '',
        'TCP',
        'udp',
        'log',
        'log:',
        'log:a\nb',
        'log:a\u0000',
        'log:\u001b[31m',
        `log:${'x'.repeat(201)}`,
        'none ',
        'http://x',
      ],
    ],
  ]
  const all = [
    ...lists,
    ...others.flatMap(([name, texts]) => texts.map((text): [Name, string] => [name, text])),
  ]

  it.each(all.map(([name, text]): [Name, string, string] => [name, text.slice(0, 60), text]))(
    '%s %j',
    (name, _, text) => expect(() => readSettings({ [name]: text })).toThrow(`env["${name}"] is`),
  )
})
