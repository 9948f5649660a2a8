/** Which of the public Compose files are deployed, with which stand-ins, and what has to be changed in them first. */
import { mkdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { cgiImage } from '../../harness/cgi-image.ts'
import { mosquittoImage, nginxImage, postgresImage, redisImage } from '../services/public-images.ts'
import { databases } from './programs/databases.ts'
import { devices, openTerminal } from './programs/devices.ts'
import { sensor } from './programs/terminals.ts'
import { web } from './programs/web.ts'

interface Change {
  /** What is changed, for the table. */
  readonly words: string
  readonly from: string | RegExp
  readonly to: string
}

export interface App {
  /** Stand-ins by the reference of the file. */
  readonly images: Readonly<Record<string, () => Promise<Buffer> | Buffer>>
  readonly changes: readonly Change[]
  /** What callers get through the gateway. */
  readonly reached: readonly { readonly service: string; readonly path?: string; readonly expected: RegExp }[]
  /** The service that is changed, and made to fail. */
  readonly redeployed: string
  /** A service that gets a device, and what plugs in a stand-in of the device. */
  readonly device?: {
    readonly service: string
    readonly node: string
    readonly plugIn: () => Promise<() => void>
  }
}

/** A page that shows which other services of the app answer at their ports. */
const page =
  (name: string, port: number, ...siblings: readonly string[]) =>
  (): Buffer =>
    cgiImage({
      name,
      script: `/bin/busybox cat /var/www/html/of-cron.txt 2>/dev/null
${siblings.map((each) => `/bin/busybox nc -w 5 ${each.replace(':', ' ')} </dev/null >/dev/null && echo "${each} reached"`).join('\n')}\necho page`,
      files: [
        { path: 'var/www/html/of-image.txt', content: 'of the image of a sibling\n' },
        {
          path: 'cron.sh',
          content:
            '#!/bin/sh\necho of a sibling >/var/www/html/of-cron.txt\nexec /bin/busybox sleep 1000000\n',
        },
        { path: 'etc/passwd', content: 'root:x:0:0::/:/bin/sh\ntelegraf:x:100:101::/:/bin/false\n' },
        { path: 'etc/group', content: 'root:x:0:\nnogroup:x:65534:\n' },
        {
          path: 'bin/mc',
          content: '#!/bin/sh\nexec /bin/busybox wget -q -O /dev/null http://127.0.0.1:9000/\n',
        },
        { path: 'bin/wget', type: 'SymbolicLink', linkpath: 'busybox' },
        { path: 'www/healthz', content: 'healthy\n' },
      ],
      config: {
        // Of the arguments of the file, only those of a program that ends change something.
        Entrypoint: [
          '/bin/sh',
          '-c',
          `[ "$1" = ./manage ] && exit; exec /bin/busybox httpd -f -p ${port} -h /www`,
          name,
        ],
        Cmd: [],
        Env: ['PATH=/bin'],
        ExposedPorts: { [`${port}/tcp`]: {} },
      },
    })
const path = '/cgi-bin/run'
const imageOf = (name: string) => [...databases, ...web].find((each) => each.name === name)!.image

export const apps: Readonly<Record<string, App>> = {
  gitea: {
    images: {
      'docker.gitea.com/gitea:1.24': page('gitea', 3000, 'db:5432'),
      'docker.io/library/postgres:14': postgresImage,
    },
    changes: [
      { words: 'a password for PostgreSQL', from: '- POSTGRES_USER=gitea', to: '- POSTGRES_PASSWORD=gitea' },
    ],
    reached: [{ service: 'server', path, expected: /db:5432 reached/ }],
    redeployed: 'server',
  },
  'ghost-mysql': {
    images: { 'ghost:5-alpine': page('ghost', 2368, 'db:3306'), 'mysql:8.0': imageOf('mariadb') },
    changes: [],
    reached: [{ service: 'ghost', path, expected: /db:3306 reached/ }],
    redeployed: 'ghost',
  },
  'grafana-prometheus': {
    images: {
      'prom/prometheus': imageOf('prometheus'),
      'grafana/grafana': page('grafana', 3000, 'prometheus:9090'),
    },
    changes: [],
    reached: [
      { service: 'prometheus', path: '/api/v1/status/config', expected: /scrape_interval: 15s/ },
      { service: 'grafana', path, expected: /prometheus:9090 reached/ },
    ],
    redeployed: 'grafana',
  },
  matomo: {
    images: {
      'mariadb:10.11': imageOf('mariadb'),
      'matomo:fpm-alpine': page('matomo', 9000, 'db:3306'),
      'nginx:alpine': nginxImage,
    },
    changes: [],
    reached: [{ service: 'web', path: '/of-image.txt', expected: /of the image of a sibling/ }],
    redeployed: 'web',
  },
  minio: {
    images: { 'quay.io/minio/minio:RELEASE.2025-04-22T22-12-26Z': page('minio', 9000) },
    changes: [],
    reached: [{ service: 'minio', path, expected: /^page/ }],
    redeployed: 'minio',
  },
  'mosquitto-node-red-influxdb': {
    images: {
      'eclipse-mosquitto:2': mosquittoImage,
      'influxdb:2.7': imageOf('influxdb'),
      'nodered/node-red:4.0': imageOf('node-red'),
    },
    changes: [],
    reached: [
      { service: 'influxdb', path: '/query?q=SHOW+DATABASES', expected: /sensors/ },
      { service: 'node-red', path: '/settings', expected: /"version":"4/ },
    ],
    redeployed: 'node-red',
  },
  nextcloud: {
    images: {
      'mariadb:10.11': imageOf('mariadb'),
      'redis:alpine': redisImage,
      'nextcloud:apache': page('nextcloud', 80, 'db:3306', 'redis:6379'),
    },
    changes: [],
    reached: [{ service: 'app', path, expected: /of a sibling\ndb:3306 reached\nredis:6379 reached/ }],
    redeployed: 'app',
  },
  'nextcloud-fpm': {
    images: {
      'postgres:alpine': postgresImage,
      'redis:alpine': redisImage,
      'nextcloud:fpm-alpine': page('nextcloud', 9000),
      'nginx:alpine-slim': nginxImage,
    },
    changes: [],
    reached: [
      { service: 'web', path: '/of-image.txt', expected: /of the image of a sibling/ },
      { service: 'web', path: '/of-cron.txt', expected: /of a sibling/ },
    ],
    redeployed: 'app',
  },
  'nginx-app-postgres': {
    images: {
      'nginx:1.27-alpine': nginxImage,
      'ghcr.io/example/shop:3.2': page('shop', 8000, 'db:5432'),
      'postgres:16-alpine': postgresImage,
    },
    changes: [],
    reached: [{ service: 'proxy', path, expected: /db:5432 reached/ }],
    redeployed: 'proxy',
  },
  'postgres-adminer': {
    images: { postgres: postgresImage, adminer: page('adminer', 8080, 'db:5432') },
    changes: [],
    reached: [{ service: 'adminer', path, expected: /db:5432 reached/ }],
    redeployed: 'adminer',
  },
  'redis-web': {
    images: { 'redislabs/redismod': redisImage, web: page('web', 5000, 'redis:6379'), nginx: nginxImage },
    changes: [
      { words: 'names of images in place of `build`', from: 'build: ./web', to: 'image: web' },
      { words: '', from: 'build: ./nginx', to: 'image: nginx' },
    ],
    reached: [{ service: 'web1', path, expected: /redis:6379 reached/ }],
    redeployed: 'web1',
  },
  'telegraf-influx-grafana': {
    images: {
      'influxdb:1.8': imageOf('influxdb'),
      'telegraf:1.34': page('telegraf', 8080, 'influxdb:8086'),
      'grafana/grafana:11.6.0': page('grafana', 3000, 'influxdb:8086'),
    },
    changes: [],
    reached: [
      { service: 'influxdb', path: '/query?q=SHOW+DATABASES', expected: /telegraf/ },
      { service: 'grafana', path, expected: /influxdb:8086 reached/ },
    ],
    redeployed: 'influxdb',
  },
  vaultwarden: {
    images: { 'vaultwarden/server:latest': page('server', 80) },
    changes: [],
    reached: [{ service: 'vaultwarden', path, expected: /^page/ }],
    redeployed: 'vaultwarden',
  },
  'wordpress-mysql': {
    images: { 'mysql:8.4': imageOf('mariadb'), 'wordpress:latest': page('wordpress', 80, 'db:3306') },
    changes: [],
    reached: [{ service: 'wordpress', path, expected: /db:3306 reached/ }],
    redeployed: 'wordpress',
  },
  zigbee2mqtt: zigbee2mqtt(),
}

function zigbee2mqtt(): App {
  const node = '/dev/serial/by-id/usb-Texas_Instruments_TI_CC2531-if00'
  return {
    images: {
      'eclipse-mosquitto:2.0': mosquittoImage,
      'ghcr.io/koenkk/zigbee2mqtt': devices.find(({ name }) => name.startsWith('zigbee2mqtt'))!.image,
    },
    changes: [{ words: 'without `/run/udev` of the device', from: /.*\/run\/udev.*\n/, to: '' }],
    reached: [{ service: 'zigbee2mqtt', expected: /temperature 21\.5/ }],
    redeployed: 'mqtt',
    device: {
      ...{ service: 'zigbee2mqtt', node },
      async plugIn() {
        const made = mkdirSync(dirname(node), { recursive: true })
        const unplug = await openTerminal(node, sensor)
        return () => {
          unplug()
          if (made !== undefined) rmSync(made, { recursive: true })
        }
      },
    },
  }
}

/** The file of an app with its changes. @throws Error for a change of something that the file does not have */
export function changeFile(text: string, { changes }: App): string {
  return changes.reduce((before, { from, to }) => {
    const after = before.replace(from, to)
    if (after === before) throw new Error(`the file has no ${from}`)
    return after
  }, text)
}
