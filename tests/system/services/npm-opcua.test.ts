/** The client of OPC UA that the registry has runs in a function as it is, against a server of the same project on Node.js. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packFolder } from '../../../apps/cli/src/archive/pack.ts'
import { needs } from '../../harness/installed.ts'
import { root } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'

const folder = join(root, 'tests/system/services/npm-packages')
const require = createRequire(join(folder, 'package.json'))

describe('node-opcua-client in a function', needs('npm packages'), () => {
  let services: Services
  let server: { shutdown(): Promise<void> } | undefined
  let base: string

  /** A server with a temperature to read and write, and a method that doubles. @returns its URL */
  async function startServer(): Promise<string> {
    const { OPCUAServer } = require('node-opcua-server')
    const { OPCUACertificateManager } = require('node-opcua-certificate-manager')
    const { DataType, Variant } = require('node-opcua-variant')
    const { StatusCodes } = require('node-opcua-status-code')
    const opcua = new OPCUAServer({
      port: 0,
      host: '127.0.0.1',
      hostname: '127.0.0.1',
      allowAnonymous: false,
      userManager: {
        isValidUser: (name: string, password: string) => name === 'app' && password === 'of the app',
      },
      serverCertificateManager: new OPCUACertificateManager({
        rootFolder: join(services.stack.state, 'pki'),
        automaticallyAcceptUnknownCertificate: true,
      }),
    })
    server = opcua
    await opcua.initialize()
    const { addressSpace } = opcua.engine
    const own = addressSpace.getOwnNamespace()
    const meter = own.addObject({
      organizedBy: addressSpace.rootFolder.objects,
      browseName: 'Meter',
      nodeId: 's=meter',
    })
    let temperature = 21.5
    own.addVariable({
      componentOf: meter,
      nodeId: 's=temperature',
      browseName: 'Temperature',
      dataType: 'Double',
      minimumSamplingInterval: 10,
      value: {
        get: () => new Variant({ dataType: DataType.Double, value: temperature }),
        set: ({ value }: { value: number }) => {
          temperature = value
          return StatusCodes.Good
        },
      },
    })
    const argument = (name: string) => [{ name, dataType: DataType.Double, valueRank: -1 }]
    const double = own.addMethod(meter, {
      browseName: 'Double',
      nodeId: 's=double',
      inputArguments: argument('value'),
      outputArguments: argument('doubled'),
    })
    type Done = (cause: null, result: object) => void
    double.bindMethod(([{ value }]: readonly [{ value: number }], _context: object, done: Done) => {
      const outputArguments = [{ dataType: DataType.Double, value: value * 2 }]
      done(null, { statusCode: StatusCodes.Good, outputArguments })
    })
    await opcua.start()
    return opcua.getEndpointUrl()
  }

  beforeAll(async () => {
    services = await startServices()
    const url = await startServer()
    const name = 'opcua'
    const { archive } = await packFolder(join(folder, 'functions/node-opcua-client'), { name })
    const { id: image } = await services.deployImage(archive)
    const env = {
      'MCM.OUTBOUND': new URL(url).host,
      'MCM.ACCESS': 'public',
      'MCM.MEMORY_MB': '384',
      URL: url,
    }
    const spec = { name, image, env }
    const { basePath } = await services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
    base = basePath
  })
  afterAll(async () => {
    await server?.shutdown()
    await services.stop()
  })

  it.each(['plain', 'encrypted'])('reads, writes, calls and subscribes: %s', async (name) => {
    const { text } = await services.call(`${base}?name=${name}`)
    expect(text).toMatch(/^\{/)
    expect(JSON.parse(text)).toEqual({
      browsed: ['Objects', 'Types', 'Views'],
      written: 'Good',
      read: 22.5,
      called: 8,
      changes: [22.5, 23.5],
    })
  })
})
