/** Which of the public Compose files are deployed, with which stand-ins, and what has to be changed in them first. */
import { cgiImage } from '../../harness/cgi-image.ts'
import { mosquittoImage, nginxImage, postgresImage, redisImage } from '../services/public-images.ts'
import { databases } from './programs/databases.ts'
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
}

/** A page that shows which other services of the app answer at their ports. */
const page =
  (name: string, port: number, ...siblings: readonly string[]) =>
  (): Buffer =>
    cgiImage({
      name,
      script: `${siblings.map((each) => `/bin/busybox nc -w 5 ${each.replace(':', ' ')} </dev/null >/dev/null && echo "${each} reached"`).join('\n')}\necho page`,
      files: [
        { path: 'cron.sh', content: '#!/bin/sh\nexec /bin/busybox sleep 1000000\n' },
        {
          path: 'bin/mc',
          content: '#!/bin/sh\nexec /bin/busybox wget -q -O /dev/null http://127.0.0.1:9000/\n',
        },
        { path: 'bin/wget', type: 'SymbolicLink', linkpath: 'busybox' },
        { path: 'www/healthz', content: 'healthy\n' },
      ],
      config: {
        // Arguments of the file change nothing.
        Entrypoint: ['/bin/sh', '-c', `exec /bin/busybox httpd -f -p ${port} -h /www`, name],
        Cmd: [],
        Env: ['PATH=/bin'],
        ExposedPorts: { [`${port}/tcp`]: {} },
      },
    })
const path = '/cgi-bin/run'
const imageOf = (name: string) => [...databases, ...web].find((each) => each.name === name)!.image
const without = (words: string, from: string | RegExp): Change => ({ words, from, to: '' })

export const apps: Readonly<Record<string, App>> = {
  gitea: {
    images: {
      'docker.gitea.com/gitea:1.24': page('gitea', 3000, 'db:5432'),
      'docker.io/library/postgres:14': postgresImage,
    },
    changes: [
      without(
        'without `/etc/timezone` and `/etc/localtime` of the device',
        /( +- \/etc\/\w+:\/etc\/\w+:ro\n){2}/,
      ),
      { words: 'a password for PostgreSQL', from: '- POSTGRES_USER=gitea', to: '- POSTGRES_PASSWORD=gitea' },
    ],
    reached: [{ service: 'server', path, expected: /db:5432 reached/ }],
    redeployed: 'server',
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
    changes: [
      without(
        'the configuration of mosquitto in its image, not beside the file',
        / +- \.\/mosquitto\.conf.*\n/,
      ),
    ],
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
    changes: [
      {
        words: '`cron` without the volume of `app`',
        from: '    volumes: [nextcloud:/var/www/html]\n    entrypoint',
        to: '    entrypoint',
      },
    ],
    reached: [{ service: 'app', path, expected: /db:3306 reached\nredis:6379 reached/ }],
    redeployed: 'app',
  },
  'nginx-app-postgres': {
    images: {
      'nginx:1.27-alpine': nginxImage,
      'ghcr.io/example/shop:3.2': page('shop', 8000, 'db:5432'),
      'postgres:16-alpine': postgresImage,
    },
    changes: [
      without('without the service `migrate`, which ends', / {6}migrate:\n.*completed_successfully\n/),
      without('', /^ {2}migrate:\n[\s\S]*?(?=^ {2}db:)/m),
    ],
    reached: [{ service: 'proxy', path, expected: /db:5432 reached/ }],
    redeployed: 'proxy',
  },
  'redis-web': {
    images: { 'redislabs/redismod': redisImage, web: page('web', 5000, 'redis:6379'), nginx: nginxImage },
    changes: [
      { words: 'names of images in place of `build`', from: 'build: ./web', to: 'image: web' },
      { words: '', from: 'build: ./nginx', to: 'image: nginx' },
      without('without `restart: on-failure`', '    restart: on-failure\n'),
    ],
    reached: [{ service: 'web1', path, expected: /redis:6379 reached/ }],
    redeployed: 'web1',
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
}

/** The file of an app with its changes. @throws Error for a change of something that the file does not have */
export function changeFile(text: string, { changes }: App): string {
  return changes.reduce((before, { from, to }) => {
    const after = before.replace(from, to)
    if (after === before) throw new Error(`the file has no ${from}`)
    return after
  }, text)
}
