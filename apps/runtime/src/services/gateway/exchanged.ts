import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Passage } from './passage.ts'
import type { BodyFraming } from './send-request.ts'

/** What a request for a service consists of. */
export interface Exchanged {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly passage: Passage
  readonly body: BodyFraming
}
