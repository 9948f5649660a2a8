/** The pages of the console: a few files, which are read once and stay in memory, so that no request reads the disk. */
import { hash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { OAuthError } from '@selvedge/protocol'
import { type Shared, shareResult } from '@selvedge/service-kit/share'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
}

/**
 * Only files of this origin, and nothing inline: what is not listed is refused. The one policy of Trusted Types is the map's, for
 * the URL of its worker.
 *
 * @param hosts origins of the map's background, for requests alone: nothing of theirs is a script, a style, a font or a frame
 */
const policyOf = (hosts: readonly string[]) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "worker-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    ['connect-src', "'self'", ...hosts].join(' '),
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types default',
  ].join('; ')

const headersWith = (hosts: readonly string[]) => ({
  'Content-Security-Policy': policyOf(hosts),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
})

interface File {
  readonly type: string
  readonly body: Buffer
  /** Compressed at the first request, not on the event loop. */
  readonly zipped: Shared<Buffer>
  readonly etag: string
}

const compress = promisify(gzip)

/** Views of the application: all of them are its one page. */
const views = [
  '/',
  '/account',
  '/projects',
  '/projects/:id',
  '/projects/:id/:part',
  '/devices',
  '/devices/:id',
  '/devices/:id/:part',
  '/people',
  '/audit',
  '/device',
  '/sign-in',
  '/sign-in/:domain',
  '/sign-in/:domain/callback',
  '/setup',
  '/join',
  '/reset',
]

/** Shows the page of the console, with the status that the answer has. */
export type ShowPage = (request: FastifyRequest, reply: FastifyReply) => unknown

/**
 * @param hosts other origins that the pages may send requests to
 * @param nonce the next nonce: a page signs its first request with it. Of the headers of its own page, a script can read this one alone
 * @returns shows the page at other paths; undefined if the pages were not built
 */
export function addPages(
  app: FastifyInstance,
  folder: string,
  site: () => URL,
  hosts: readonly string[],
  nonce: () => string,
): ShowPage | undefined {
  const headers = headersWith(hosts)
  const files = readFiles(folder)
  const page = files.get('/index.html')
  if (!page) return undefined

  for (const [path, file] of files) {
    if (path === '/index.html') continue
    app.get(path, (request, reply) => {
      // Names contain a hash of the content, so a file never changes.
      reply.headers(headers).header('Cache-Control', 'public, max-age=31536000, immutable')
      return send(file, request.headers, reply)
    })
  }
  const show = (request: FastifyRequest, reply: FastifyReply) => {
    const { hostname, origin } = site()
    const asked = request.headers.host?.replace(/:\d+$/, '').toLowerCase()
    // Passkeys are bound to a host name, and an IP address is not a host name.
    if (hostname === 'localhost' && asked === '127.0.0.1') return reply.redirect(origin + request.url, 307)
    if (asked !== hostname) throw new OAuthError('access_denied', `the console is at ${origin}`)
    reply.headers(headers).header('Cache-Control', 'no-cache')
    reply.header('Server-Timing', `nonce;desc="${nonce()}"`)
    return send(page, request.headers, reply)
  }
  for (const view of views) app.get(view, show)
  // A person with a wrong address sees the console; programs get the usual answer.
  app.get('/*', (request, reply) => {
    if (!request.headers.accept?.includes('text/html')) return reply.callNotFound()
    return show(request, reply.code(404))
  })
  return show
}

async function send(file: File, asked: Record<string, unknown>, reply: FastifyReply) {
  reply.header('ETag', file.etag).header('Vary', 'Accept-Encoding')
  if (asked['if-none-match'] === file.etag) return reply.code(304).send()
  reply.type(file.type)
  if (!String(asked['accept-encoding'] ?? '').includes('gzip')) return reply.send(file.body)
  const zipped = await file.zipped()
  return reply.header('Content-Encoding', 'gzip').send(zipped)
}

function readFiles(folder: string): Map<string, File> {
  const files = new Map<string, File>()
  if (!existsSync(folder)) return files
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const type = types[extname(entry.name)]
    if (!entry.isFile() || type === undefined) continue
    const path = join(entry.parentPath, entry.name)
    const body = readFileSync(path)
    const etag = `"${hash('sha256', body, 'base64url').slice(0, 22)}"`
    files.set(`/${relative(folder, path).split(sep).join('/')}`, {
      type,
      body,
      zipped: shareResult(() => compress(body, { level: 9 })),
      etag,
    })
  }
  return files
}
