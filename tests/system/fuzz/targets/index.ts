/** Every parser of foreign bytes. A new parser gets a row here. */
import type { Target } from '../engine/target.ts'
import { announcement } from './announcement.ts'
import { authorizationRequest } from './authorization-request.ts'
import { callers } from './callers.ts'
import { certificate } from './certificate.ts'
import { clientMessages } from './client-messages.ts'
import { control, frames } from './control.ts'
import { controlLine } from './control-line.ts'
import { dns } from './dns.ts'
import { dnsQuestion } from './dns-question.ts'
import { document } from './document.ts'
import { dpop } from './dpop.ts'
import { events } from './events.ts'
import { fixes } from './fixes.ts'
import { form } from './form.ts'
import { guard } from './guard.ts'
import { handlerForm } from './handler-form.ts'
import { headers } from './headers.ts'
import { hmacCode } from './hmac-code.ts'
import { archive, documents, layer } from './images.ts'
import { json } from './json.ts'
import { jsonrpc } from './jsonrpc.ts'
import { jwks } from './jwks.ts'
import { jx } from './jx.ts'
import { multipart } from './multipart.ts'
import { ociLog } from './oci-log.ts'
import { path } from './path.ts'
import { gpsd, nmea } from './receivers.ts'
import { reference } from './reference.ts'
import { response } from './response.ts'
import { runtimeEvents } from './runtime-events.ts'
import { session } from './session.ts'
import { settings } from './spec.ts'
import { terminal } from './terminal.ts'
import { claims, jws } from './tokens.ts'
import { zstdFrames } from './zstd-frames.ts'

export const targets: readonly Target[] = [
  guard,
  callers,
  controlLine,
  path,
  headers,
  response,
  json,
  jsonrpc,
  settings,
  fixes,
  form,
  authorizationRequest,
  jws,
  claims,
  dpop,
  session,
  hmacCode,
  dns,
  dnsQuestion,
  announcement,
  nmea,
  gpsd,
  layer,
  archive,
  documents,
  reference,
  multipart,
  ociLog,
  document,
  frames,
  control,
  terminal,
  jwks,
  events,
  runtimeEvents,
  certificate,
  handlerForm,
  jx,
  zstdFrames,
  clientMessages,
]
