/** A container that speaks HTTP/2 without TLS: nginx, on a real Podman, called over HTTP/1.1, HTTP/2 and gRPC. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { podmanNeeds } from '../../harness/podman.ts'
import { type PodmanServices, startPodmanServices } from '../../harness/podman-services.ts'
import type { Services } from '../../harness/services.ts'
import { nginxImage } from './public-images.ts'

const run = promisify(execFile)

/** Answers gRPC with a status in its head, and everything else with the protocol that it was asked in. */
const site = `server { listen 8080 http2; root /usr/share/nginx/html; add_header x-protocol $server_protocol;
  location /test.Echo/ { default_type application/grpc; add_header grpc-status 5 always;
    add_header grpc-message $http_x_selvedge_account always; return 200; } }`
const command = (conf: string) =>
  JSON.stringify([
    '/bin/sh',
    '-c',
    `printf '%s' "$SITE" > /etc/nginx/conf.d/default.conf; ${conf}exec nginx -g 'daemon off;'`,
  ])

describe(
  'a container that speaks HTTP/2',
  needs(...podmanNeeds, 'busybox', 'setpriv', 'user IDs', 'nginx', 'curl'),
  () => {
    let services: Services
    let stack: PodmanServices
    beforeAll(async () => {
      stack = await startPodmanServices()
      ;({ services } = stack)
    })
    afterEach(() => stack.removeContainers())
    afterAll(() => stack?.stop())

    async function deploy(env: Record<string, string>) {
      const { id: image } = await services.deployImage(nginxImage())
      const settings = { SITE: site, 'MCM.COMMAND': command(''), 'MCM.PORT': '8080', ...env }
      const spec = { name: 'web', image, env: settings }
      return services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
    }

    it('is checked, and reached by clients of HTTP/1.1, HTTP/2 and gRPC', async () => {
      const h2c = { 'MCM.PROTOCOL': 'h2c', 'MCM.READY': 'http', 'MCM.HEALTH_PATH': '/index.html' }
      const { basePath, health } = await deploy(h2c)
      expect(health).toBe('healthy')
      const answer = await services.call(`${basePath}/index.html`)
      expect([answer.status, answer.headers['x-protocol']]).toEqual([200, 'HTTP/2.0'])
      const curl = async (...args: string[]) => {
        const common = [
          '--silent',
          '--show-error',
          '--http2-prior-knowledge',
          '--write-out',
          '\n%{http_version} %{http_code}',
        ]
        return (await run('curl', [...common, ...args])).stdout.split('\n').at(-1)
      }
      const token = ['--header', `Authorization: Bearer ${services.token}`]
      const url = `${services.url()}${basePath}/index.html`
      const socket = ['--unix-socket', join(services.stack.state, 'runtime.sock')]
      expect(await curl(...token, url)).toBe('2 200')
      expect(await curl(...token, ...socket, url)).toBe('2 200')
      expect(await curl(url)).toBe('2 401')
      expect(await curl(...token, '--header', 'Host: foreign.example', url)).toBe('2 403')
      const upgrade = {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      }
      expect((await services.call(`${basePath}/`, { headers: upgrade })).status).toBe(501)
    })

    it('answers calls of gRPC with a status', needs('grpcio'), async () => {
      const { basePath } = await deploy({ 'MCM.PROTOCOL': 'h2c' })
      const client = join(import.meta.dirname, '../clients/grpc/client.py')
      const { host } = new URL(services.url())
      for (const [token, expected] of [
        [services.token, ['NOT_FOUND', services.developer.accountId]],
        ['', ['UNAUTHENTICATED', expect.stringContaining('needs an access token')]],
      ] as const) {
        const script = `import sys; sys.argv = ${JSON.stringify(['', host, token, basePath])}; source = open(${JSON.stringify(client)}).read().split('results = ')[0]; exec(source); print(json.dumps(outcome(lambda: unary('Unary', b''))))`
        const { stdout } = await run('/usr/bin/python3', ['-c', script])
        expect(JSON.parse(stdout)).toEqual(expected)
      }
    })

    it('with a gRPC health check that is not passed is not started', async () => {
      const failed = deploy({ 'MCM.PROTOCOL': 'h2c', 'MCM.READY': 'grpc', 'MCM.HEALTH_SEC': '10' })
      await expect(failed).rejects.toThrow('/grpc.health.v1.Health/Check answered')
    })
  },
)
