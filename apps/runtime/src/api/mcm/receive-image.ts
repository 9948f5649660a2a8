import type { IncomingMessage } from 'node:http'
import { expectedImageName, type ImageRecord, imageName, RpcError } from '@selvedge/protocol'
import * as z from 'zod'
import type { Naming } from '../../services/images/image-name.ts'
import { readJsonBody } from './read-json-body.ts'
import { archiveField, receiveForm } from './receive-form.ts'

const maxBody = 64 * 1024
/** Bytes of a form that may be no bytes of its archive: boundaries, headers, other fields. */
const formBytes = 64 * 1024
const archiveTypes = /^application\/(x-tar|gzip|x-gzip|octet-stream|vnd\.oci\.image\.layer|x-compressed-tar)/

export interface Receivers {
  /** @param naming is known when the body has arrived */
  archive(
    content: AsyncIterable<Uint8Array>,
    length: number,
    naming: Naming | Promise<Naming>,
  ): Promise<ImageRecord>
  source(source: string, how: { readonly name?: string; readonly now?: boolean }): Promise<ImageRecord>
}

/**
 * Receives an image in each form that clients send: multipart with the field `image`, the bare archive, or JSON
 * `{ "source" }`. An archive goes to the disk as it arrives.
 *
 * @param naming of the query
 * @throws RpcError
 */
export async function receiveImage(
  request: IncomingMessage,
  naming: Naming,
  receivers: Receivers,
): Promise<ImageRecord> {
  const type = request.headers['content-type'] ?? ''
  const length = Number(request.headers['content-length'] ?? 0)
  if (/^multipart\/form-data/i.test(type))
    return receiveForm(request, naming, (content, named) =>
      receivers.archive(content, Math.max(0, length - formBytes), named),
    )
  if (archiveTypes.test(type)) return receivers.archive(uploadOf(request), length, naming)
  if (/^application\/json/i.test(type)) {
    const { source, name = naming.given, now = false } = await readSource(request)
    return receivers.source(source, { ...(name !== undefined && { name }), now })
  }
  throw new RpcError(
    'invalid_params',
    `the content type is ${JSON.stringify(type.slice(0, 100))}; send multipart/form-data with the field "${archiveField}", the archive as application/x-tar, or { "source" } as application/json`,
  )
}

/** The name of the file that a bare archive comes from (RFC 6266 § 4.3); undefined if the request has no such header, or one that cannot be read. */
export function fileNameOf({ headers }: IncomingMessage): string | undefined {
  const header = headers['content-disposition'] ?? ''
  const [, encoded] = /;\s?filename\*=UTF-8''([\w.%!~'()-]{1,765})$/i.exec(header) ?? []
  const [, plain] = /;\s?filename="([^"\\]{1,255})"$/i.exec(header) ?? []
  try {
    return encoded === undefined ? plain : decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}

/**
 * The body of a request as it comes. A reader that stops early leaves the connection alone: the refusal still has to go out on it,
 * and the answer drains the rest.
 *
 * @throws RpcError `invalid_image` if the client disconnects
 */
export async function* uploadOf(request: IncomingMessage): AsyncGenerator<Uint8Array, void> {
  try {
    yield* request.iterator({ destroyOnReturn: false })
  } catch (cause) {
    throw new RpcError('invalid_image', 'the upload was cut short', { cause })
  }
}

const sourceBody = z.object({
  source: z.string().min(1).max(4096),
  name: imageName.optional(),
  now: z.boolean().optional(),
})

async function readSource(request: IncomingMessage): Promise<z.infer<typeof sourceBody>> {
  const read = sourceBody.safeParse(await readJsonBody(request, maxBody))
  if (read.success) return read.data
  throw new RpcError(
    'invalid_params',
    `send { "source": "<path, upload: handle or reference>" }, and "name" where it should have another name: ${expectedImageName}`,
  )
}
