/** The runtime's updateGps with its guards, its parameters and its token check, and nothing kept. */
import { type Methods, methods, readGpsSignal } from '@selvedge/protocol'
import { createDispatcher } from '@selvedge/protocol/jsonrpc'
import { accessProfile, edgeAudience } from '@selvedge/protocol/tokens'
import { systemClock } from '@selvedge/service-kit/clock'
import { type CallContext, createGetJson, createRpcListener, listenTcp } from '@selvedge/service-kit/http'
import { createRemoteIssuer, createTokenVerifier } from '@selvedge/service-kit/tokens'

const issuer = createRemoteIssuer({
  issuer: process.argv[2]!,
  clock: systemClock,
  getJson: createGetJson(fetch),
})
const verifier = createTokenVerifier({ issuers: () => [issuer], clock: systemClock, remembered: 1000 })
const dispatcher = createDispatcher<Pick<Methods, 'updateGps'>, { token: unknown }, CallContext>({
  methods: { updateGps: methods.updateGps },
  checks: {
    token: (_, readParams) =>
      verifier.verify(readParams().edgeAccessToken as string, accessProfile, edgeAudience),
  },
  handlers: {
    updateGps: (params) => {
      readGpsSignal(params, [])
      return { status: 'ok' }
    },
  },
  mirror: true,
  limits: { depth: 32, batch: 100 },
  onInternalError: (_, cause) => String(cause),
})
const { port } = await listenTcp({
  addresses: ['127.0.0.1'],
  port: 0,
  portSetting: 'nothing',
  authenticated: false,
  limits: {},
  listener: (own) =>
    createRpcListener({ dispatcher, guard: { port: own, allowedOrigins: [] }, maxBody: 1024 * 1024 }),
})
process.send?.({ host: '127.0.0.1', port })
process.on('SIGTERM', () => process.exit(0))
process.on('disconnect', () => process.exit(0))
