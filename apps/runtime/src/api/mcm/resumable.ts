/**
 * Uploads that continue after a cut, by tus 1.0.0 (https://tus.io/protocols/resumable-upload), which has clients in most languages: the core
 * protocol, creation, expiration and termination. The end of the URL is the handle of the upload, without `upload:`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { mcmPaths, methods, RpcError } from '@selvedge/protocol'
import { allowLargeBody, sendJson } from '@selvedge/service-kit/http'
import { sendRefusal } from '../../services/gateway/refusal.ts'
import type { Images } from '../../services/images/images.ts'
import type { UploadState } from '../../services/images/uploads.ts'
import type { Routes } from '../rest/rest.ts'
import { uploadOf } from './receive-image.ts'

const version = '1.0.0'
const contentType = 'application/offset+octet-stream'
const handleOf = (id: string): string => `upload:${id}`

/** Whether a request speaks this protocol. */
export const isTus = ({ headers }: IncomingMessage): boolean => headers['tus-resumable'] !== undefined

export async function beginUpload(
  { uploads }: Images,
  owner: Parameters<Images['list']>[0],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!expectVersion(request, response)) return
  const length = numberIn(request, 'upload-length')
  const state = await uploads.begin(owner, length, fileNameIn(request.headers['upload-metadata']))
  describe(response, state)
  response.setHeader('Location', `${mcmPaths.uploads}/${state.handle.slice(handleOf('').length)}`)
  sendJson(response, 201, JSON.stringify(bodyOf(state)))
}

export function resumableRoutes(images: Images): Routes['table'] {
  const path = `${mcmPaths.uploads}/{id}`
  return {
    [`OPTIONS ${mcmPaths.uploads}`]: {
      as: methods.deployImage,
      handle: async ({ response }) => {
        response.writeHead(204, {
          'Tus-Resumable': version,
          'Tus-Version': version,
          'Tus-Extension': 'creation,expiration,termination',
          'Tus-Max-Size': images.uploads.maxSize,
        })
        response.end()
        return undefined
      },
    },
    [`GET ${path}`]: {
      as: methods.deployImage,
      handle: async ({ owner, id, request, response }) => {
        if (!expectVersion(request, response)) return undefined
        const state = await images.uploads.stateOf(owner, handleOf(id))
        describe(response, state)
        return bodyOf(state)
      },
    },
    [`PATCH ${path}`]: {
      as: methods.deployImage,
      handle: async ({ owner, id, request, response }) => {
        if (!expectVersion(request, response)) return undefined
        const offset = numberIn(request, 'upload-offset')
        const type = request.headers['content-type']
        if (type !== contentType)
          throw new RpcError('invalid_params', `the content type is ${quoted(type)}; send ${contentType}`)
        allowLargeBody(request)
        const end = () => void request.destroy()
        describe(response, await images.uploads.resume(owner, handleOf(id), offset, uploadOf(request), end))
        response.writeHead(204).end()
        return undefined
      },
    },
    [`DELETE ${path}`]: {
      as: methods.deployImage,
      handle: async ({ owner, id, request, response }) => {
        if (!expectVersion(request, response)) return undefined
        await images.uploads.remove(owner, handleOf(id))
        response.writeHead(204).end()
        return undefined
      },
    },
  }
}

const bodyOf = ({ handle, offset, length }: UploadState) => ({ handle, offset, length })

/** Refuses another version; a request need not name one. @returns false if the request is answered */
function expectVersion({ headers }: IncomingMessage, response: ServerResponse): boolean {
  response.setHeader('Tus-Resumable', version)
  const asked = headers['tus-resumable']
  if (asked === undefined || asked === version) return true
  sendRefusal(response, {
    status: 412,
    reason: 'invalid_params',
    message: `the version of tus is ${quoted(asked)}; send ${version}`,
    headers: { 'Tus-Version': version },
  })
  return false
}

function describe(response: ServerResponse, { offset, length, expiresAt }: UploadState): void {
  response.setHeader('Upload-Offset', offset)
  response.setHeader('Upload-Length', length)
  response.setHeader('Upload-Expires', new Date(expiresAt).toUTCString())
  response.setHeader('Cache-Control', 'no-store')
}

const quoted = (value: string | string[] | undefined): string =>
  value === undefined ? 'missing' : JSON.stringify(String(value).slice(0, 100))

/** @throws RpcError `invalid_params` */
function numberIn({ headers }: IncomingMessage, name: string): number {
  const text = headers[name]
  if (typeof text === 'string' && /^\d{1,15}$/.test(text)) return Number(text)
  throw new RpcError('invalid_params', `${name} is ${quoted(text)}; send a number of bytes`)
}

/** The member `filename`: pairs of a name and a Base64 value, between commas. Undefined if there is no such member, or it cannot be read. */
function fileNameIn(metadata: string | string[] | undefined): string | undefined {
  const [, encoded] =
    /(?:^|,) ?filename ([A-Za-z0-9+/]{1,1020}={0,2})(?:,|$)/.exec(String(metadata ?? '')) ?? []
  if (encoded === undefined) return undefined
  const name = Buffer.from(encoded, 'base64').toString()
  return name.length <= 255 ? name : undefined
}
