/** What a component may import, by the names of the interfaces without their version. */
import type { FunctionStorage } from '@selvedge/client/function'
import { createCli } from './cli.ts'
import { createClocks, random } from './clocks.ts'
import { closedInterfaces } from './closed.ts'
import { IoError } from './failure.ts'
import { Fields } from './fields.ts'
import { InputStream, OutputStream, Pollable, poll } from './io.ts'
import { createKeyvalue } from './keyvalue.ts'
import * as message from './message.ts'
import { createOutgoingHandler, FutureIncomingResponse, RequestOptions } from './outgoing.ts'
import type { Session } from './session.ts'

/** What a worker gets with each request, as far as a component uses it. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string>>
  readonly storage: FunctionStorage
  /** Whether the cursors of `wasi:keyvalue` are texts (0.2.0-draft2) or numbers (0.2.0-draft). */
  readonly hasTextCursors: boolean
}

export function createInterfaces(session: Session, { env, storage, hasTextCursors }: Surroundings) {
  const cli = createCli(session, env)
  const interfaces = {
    ...cli.interfaces,
    ...createClocks(session),
    ...random,
    ...closedInterfaces,
    ...createKeyvalue(storage, hasTextCursors),
    'wasi:io/error': { Error: IoError },
    'wasi:io/poll': { Pollable, poll },
    'wasi:io/streams': { InputStream, OutputStream },
    'wasi:http/types': createTypes(session),
    'wasi:http/outgoing-handler': createOutgoingHandler(session),
  }
  return { interfaces, finish: cli.finish }
}

/** `wasi:http/types`. What a component constructs belongs to its request. */
function createTypes(session: Session) {
  class OutgoingResponse extends message.OutgoingResponse {
    constructor(headers: Fields) {
      super(session, headers)
    }
  }
  class OutgoingRequest extends message.OutgoingRequest {
    constructor(headers: Fields) {
      super(session, headers)
    }
  }
  return {
    Fields,
    FutureIncomingResponse,
    FutureTrailers: message.FutureTrailers,
    IncomingBody: message.IncomingBody,
    IncomingRequest: message.IncomingRequest,
    IncomingResponse: message.IncomingResponse,
    OutgoingBody: message.OutgoingBody,
    OutgoingRequest,
    OutgoingResponse,
    RequestOptions,
    ResponseOutparam: message.ResponseOutparam,
    httpErrorCode: (error: IoError): message.ErrorCode => ({
      tag: 'internal-error',
      val: error.toDebugString(),
    }),
  }
}
