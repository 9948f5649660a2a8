import { createRequire } from 'node:module'
import {
  catalogue,
  containerSettings,
  methods,
  openRpcDocument,
  type Reason,
  readSettings,
} from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { settingSchemas } from '../../packages/protocol/src/mcm/settings/json-schema.ts'

const require = createRequire(import.meta.url)
const { default: Ajv } = require('ajv') as typeof import('ajv')
const { openrpcDocument: metaSchema } = require('@open-rpc/meta-schema') as { openrpcDocument: object }

describe('the OpenRPC document', () => {
  const document = openRpcDocument(Object.values(methods), {
    title: 't',
    version: '1',
    url: 'http://127.0.0.1:8083/jsonrpc/v1',
  })

  it('is valid by the meta-schema of OpenRPC', () => {
    // The meta-schema points at another one on the network for JSON Schema itself; ajv has that built in.
    const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false, logger: false })
    ajv.addSchema({ $id: 'https://meta.json-schema.tools', type: ['object', 'boolean'] })
    ajv.addSchema({
      $id: 'https://meta.json-schema.tools/',
      type: ['object', 'boolean'],
      definitions: { JSONSchemaObject: { properties: { $ref: { type: 'string' } } } },
    })
    const validate = ajv.compile(metaSchema)
    validate(JSON.parse(JSON.stringify(document)))
    expect(validate.errors ?? []).toEqual([])
  })

  it('holds schemas that are valid JSON Schema of draft 7', () => {
    const ajv = new Ajv({ strict: false, validateFormats: false })
    const { methods: listed } = document as {
      methods: { params: { schema: object }[]; result: { schema: object } }[]
    }
    const schemas = listed.flatMap(({ params, result }) => [
      ...params.map(({ schema }) => schema),
      result.schema,
    ])
    expect(schemas.length).toBeGreaterThan(20)
    for (const schema of schemas) expect(ajv.validateSchema(schema), JSON.stringify(schema)).toBe(true)
  })

  it('names every method, with parameters in order and the reasons it fails with', () => {
    const listed = (
      document as {
        methods: { name: string; params: { name: string }[]; errors: { data: { reason: string } }[] }[]
      }
    ).methods
    expect(listed.map(({ name }) => name)).toEqual(Object.keys(methods))
    const updateGps = listed.find(({ name }) => name === 'updateGps')!
    expect(updateGps.params.map(({ name }) => name)).toEqual([
      'edgeAccessToken',
      'longitude',
      'latitude',
      'speed',
      'bearing',
    ])
    expect(updateGps.errors.map(({ data }) => data.reason)).toContain('wrong_account')
  })

  it('describes every setting of deployContainer, and allows variables under other names', () => {
    const { methods: listed } = document as {
      methods: { name: string; params: { name: string; schema: { properties: { env: object } } }[] }[]
    }
    const { params } = listed.find(({ name }) => name === 'deployContainer')!
    const { env } = params.find(({ name }) => name === 'spec')!.schema.properties
    expect(Object.keys((env as { properties: object }).properties)).toEqual(Object.keys(containerSettings))
    expect(env).toMatchObject({
      properties: {
        'MCM.STOP_SEC': {
          type: 'string',
          description: expect.stringMatching(/Seconds for .* Expected: a decimal number from 1 to 300\.$/),
          default: '10',
        },
        'MCM.ROOT': { enum: ['writable', 'read-only'], default: 'writable' },
        'MCM.MANAGE': { enum: ['true', 'false'], default: 'false' },
        'MCM.OUTBOUND': expect.not.objectContaining({ default: expect.anything() }),
      },
    })
    const validate = new Ajv({ strict: false }).compile(env)
    expect(validate({ 'MCM.STOP_SEC': '60', MY_NAME: 'x', 'MCM.RUNTIME': 'y' })).toBe(true)
    expect(validate({ 'MCM.ROOT': 'none' })).toBe(false)
    expect(validate({ MY_NAME: 1 })).toBe(false)
  })

  it('shows defaults and values of settings that the settings accept', () => {
    for (const [name, each] of Object.entries(settingSchemas()))
      for (const text of [...(each.enum ?? []), ...(each.default === undefined ? [] : [each.default])])
        expect(() => readSettings({ [name]: text }), `${name}=${text}`).not.toThrow()
  })

  it('has the words that clients switch on, which never change within v1', () => {
    expect(
      Object.keys(catalogue).map((reason) => `${reason} ${catalogue[reason as Reason].code}`),
    ).toMatchInlineSnapshot(`
      [
        "parse_error -32700",
        "invalid_request -32600",
        "method_not_found -32601",
        "websocket_required -32600",
        "invalid_params -32602",
        "internal_error -32603",
        "token_missing -32001",
        "token_malformed -32001",
        "token_expired -32001",
        "token_not_yet_valid -32001",
        "token_untrusted -32001",
        "token_revoked -32001",
        "api_key_invalid -32001",
        "insufficient_scope -32003",
        "wrong_node -32003",
        "wrong_account -32003",
        "not_associated -32003",
        "service_not_allowed -32003",
        "not_found -32004",
        "already_associated -32009",
        "join_key_refused -32003",
        "already_exists -32009",
        "in_use -32009",
        "conflict -32009",
        "use_dpop_nonce -32001",
        "invalid_dpop_proof -32001",
        "signed_out -32001",
        "credentials_invalid -32001",
        "step_up_required -32001",
        "forbidden -32003",
        "identity_unavailable -32010",
        "discovery_unavailable -32010",
        "company_unavailable -32010",
        "engine_unavailable -32010",
        "registry_unavailable -32010",
        "registry_refused -32015",
        "storage_failed -32010",
        "limit_exceeded -32013",
        "storage_full -32013",
        "busy -32013",
        "invalid_image -32015",
        "unsupported_image -32015",
        "digest_mismatch -32015",
        "container_failed -32015",
      ]
    `)
    expect(Object.keys(methods)).toMatchInlineSnapshot(`
      [
        "getMe",
        "getEdgeIdToken",
        "associateAccount",
        "joinAccount",
        "unassociateAccount",
        "updateGps",
        "getGps",
        "getNodes",
        "setLocationSharing",
        "getLocationSharing",
        "setLocationTrack",
        "getLocationTrack",
        "getEdgeHmacCode",
        "verifyEdgeHmacCode",
        "deployImage",
        "getImages",
        "removeImage",
        "deployContainer",
        "getContainers",
        "startContainer",
        "stopContainer",
        "redeployContainer",
        "removeContainer",
        "runScheduled",
        "getContainerLogs",
        "getContainerHistory",
        "deployApp",
        "getApps",
        "startApp",
        "stopApp",
        "redeployApp",
        "rollbackApp",
        "removeApp",
        "setSecret",
        "getSecrets",
        "removeSecret",
        "getEngines",
        "getNetworkUse",
        "subscribe",
        "unsubscribe",
        "rpc.discover",
      ]
    `)
  })
})
