/** An image that comes as a file of a form (multipart/form-data, RFC 7578). */
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { expectedImageName, type ImageRecord, imageName, RpcError } from '@selvedge/protocol'
import { inBackground, safely } from '@selvedge/service-kit/safely'
import type { Naming } from '../../services/images/image-name.ts'

/** The field of the form that holds the archive. */
export const archiveField = 'image'

/** @param naming is known when the form has arrived: a field may follow the file */
export type ReceiveArchive = (content: Readable, naming: Promise<Naming>) => Promise<ImageRecord>

/**
 * Reads a form. The answer comes as soon as the archive is accepted or refused; the listener drains what is left of the body.
 *
 * @param naming of the query
 * @throws RpcError
 */
export async function receiveForm(
  request: IncomingMessage,
  naming: Naming,
  receive: ReceiveArchive,
): Promise<ImageRecord> {
  const { Busboy } = await import('./multipart.lazy.ts')
  const upload = new FormUpload(request, naming, receive)
  try {
    const parser = new Busboy({
      headers: request.headers as never,
      limits: { files: 1, fields: 10, headerPairs: 100 },
    })
    upload.read(parser)
  } catch (cause) {
    upload.break(cause)
  }
  return upload.result
}

type Parser = InstanceType<typeof import('./multipart.lazy.ts')['Busboy']>

class FormUpload {
  readonly #request: IncomingMessage
  readonly #receive: ReceiveArchive
  readonly #received = Promise.withResolvers<ImageRecord>()
  readonly #named = Promise.withResolvers<Naming>()
  #naming: Naming
  #archive: Readable | undefined

  constructor(request: IncomingMessage, naming: Naming, receive: ReceiveArchive) {
    this.#request = request
    this.#naming = naming
    this.#receive = receive
    this.#named.promise.catch(() => undefined)
  }

  get result(): Promise<ImageRecord> {
    return this.#received.promise
  }

  read(parser: Parser): void {
    const refuse = (cause: unknown) => this.#refuse(cause)
    const end = safely('upload.broken', (cause: unknown) => this.break(cause))
    parser.on(
      'field',
      safely('upload.field', (name: string, value: string) => this.#onField(name, value), refuse),
    )
    parser.on(
      'file',
      safely(
        'upload.file',
        (name: string, content: Readable, file?: string) => {
          // A stream of the parser that ends in an error has to have a listener, even if nothing reads it.
          content.on('error', end)
          this.#onFile(name, content, file)
        },
        refuse,
      ),
    )
    parser.on(
      'finish',
      safely('upload.finish', () => this.#onFinish(), refuse),
    )
    parser.on('error', end)
    this.#request.on('error', end)
    this.#request.once(
      'close',
      safely('upload.close', () => this.#onClose(), refuse),
    )
    this.#request.pipe(parser)
  }

  break(cause: unknown): void {
    const why = cause instanceof Error ? cause.message : String(cause)
    this.#refuse(new RpcError('invalid_image', `the multipart body is broken: ${why}`, { cause }))
  }

  #onField(name: string, value: string): void {
    if (name === 'name') this.#naming = { ...this.#naming, given: readName(value) }
  }

  #onFile(name: string, content: Readable, file: string | undefined): void {
    if (name !== archiveField || this.#archive) {
      content.resume()
      return
    }
    this.#archive = content
    this.#naming = { ...this.#naming, file: this.#naming.file ?? file }
    inBackground('upload.archive', this.#onArchive(content))
  }

  async #onArchive(content: Readable): Promise<void> {
    try {
      this.#received.resolve(await this.#receive(content, this.#named.promise))
    } catch (cause) {
      this.#refuse(cause)
    }
  }

  #onFinish(): void {
    this.#named.resolve(this.#naming)
    if (!this.#archive)
      this.#refuse(new RpcError('invalid_params', `the multipart body has no file field "${archiveField}"`))
  }

  /** A client that disconnects leaves the archive incomplete. */
  #onClose(): void {
    if (!this.#request.complete) this.#refuse(new RpcError('invalid_image', 'the upload was cut short'))
  }

  /** Nothing more is read, and what waits for the archive or its name fails. */
  #refuse(cause: unknown): void {
    this.#request.unpipe()
    this.#named.reject(cause)
    this.#archive?.destroy(cause as Error)
    this.#received.reject(cause)
  }
}

/** @throws RpcError `invalid_params` */
function readName(text: string): string {
  const read = imageName.safeParse(text)
  if (read.success) return read.data
  throw new RpcError(
    'invalid_params',
    `the field "name" is ${JSON.stringify(text.slice(0, 100))}; expected ${expectedImageName}`,
  )
}
