/* A service as they are written for this API family: webpack 5, `router`, `debug`, and the helper package. */
const Router = require('router')
const debug = require('debug')('app')
const { init } = require('@mimik/edge-ms-helper/init-helper')
const { extractToken } = require('@mimik/edge-ms-helper/authorization-helper')
const { sendResult, sendError } = require('@mimik/edge-ms-helper/response-helper')

const app = Router()
const tokenOf = (req) => extractToken(req.authorization)
const answers = (res) => [(result) => sendResult(result, 200, res), (err) => sendError(err, res, 502)]

app.get('/hello', (req, res) => {
  debug('hello %s', req.url)
  res.end(
    JSON.stringify({
      hello: 'world',
      env: process.env,
      isGlobal: global === globalThis,
      timers: [typeof setTimeout, typeof setImmediate, typeof process.nextTick],
      encoded: Duktape.enc('base64', 'hello'),
      decoded: `${Duktape.dec('hex', '68656c6c6f')}`,
      jx: Duktape.enc('jx', { a: undefined }),
      jc: Duktape.enc('jc', { a: undefined }),
    }),
  )
})

// The device and its neighbours, through the helper package.
app.get('/nodes/:cluster', (req, res) => {
  req.context.edge.clusterDiscovery(req.params.cluster, tokenOf(req), ...answers(res))
})
app.get('/me', (req, res) => {
  req.context.edge.systemInfo(tokenOf(req), ...answers(res))
})
app.get('/code/:nodeId', (req, res) => {
  const [succeed, fail] = answers(res)
  req.context.edge.getRequestBepHmacCode(tokenOf(req), req.params.nodeId, (code) => succeed({ code }), fail)
})
app.get('/bep', (req, res) => {
  const [succeed, fail] = answers(res)
  req.context.edge.requestBep({ code: 'c', success: ({ data }) => succeed({ href: data }), error: fail })
})

// Items with tags.
app.put('/items/:tag/:key', (req, res) => {
  req.context.storage.setItemWithTag(req.params.key, req.body, req.params.tag)
  sendResult({}, 201, res)
})
app.get('/items', (req, res) => {
  const keys = []
  req.context.storage.eachItem((key) => {
    keys.push(key)
    return keys.length < 2
  })
  sendResult(keys, 200, res)
})
app.get('/items/:tag', (req, res) => {
  const items = {}
  req.context.storage.eachItemByTag(req.params.tag, (key, value) => {
    items[key] = value
  })
  sendResult(items, 200, res)
})
app.post('/items/:key/:tag', (req, res) => {
  sendResult({ updated: req.context.storage.updateTag(req.params.key, req.params.tag) }, 200, res)
})
app.delete('/items/:tag', (req, res) => {
  sendResult({ deleted: req.context.storage.deleteItemsByTag(req.params.tag) }, 200, res)
})

// Forms and files.
app.post('/files', (req, res) => {
  const got = {}
  req.handleFormRequest({
    found: (name, filename) => {
      if (name === 'metadata') return { action: 'get' }
      return filename === undefined ? { action: 'skip' } : { action: 'store', path: filename }
    },
    get: (name, value) => {
      got[name] = value
    },
    store: (path, size) => {
      got[path] = size
    },
  })
  sendResult(got, 200, res)
})
app.get('/files/:name', (req, res) => {
  res.writeMimeFile(req.params.name, 'image/png')
})
app.delete('/files/:name', (req, res) => {
  sendResult({ deleted: req.context.storage.deleteFile(req.params.name) }, 200, res)
})

// Requests of its own, and callbacks that throw.
app.post('/ask', (req, res) => {
  const { url, throws, ...options } = JSON.parse(req.body)
  let calls = 0
  req.context.http.request({
    ...options,
    url: url.startsWith('/') ? `${req.context.info.apiRoot}${url}` : url,
    success: ({ data, status }) => {
      calls += 1
      setTimeout(() => sendResult({ calls, data, status }, 200, res), 50)
      if (throws) throw new Error('a callback that throws')
    },
    error: ({ message, status, content }) => {
      calls += 1
      setTimeout(() => sendResult({ calls, message, failed: status, content }, 200, res), 50)
    },
  })
})

app.get('/moved', (_req, res) => {
  res.writeHead(302, { Location: '/hello', 'Set-Cookie': ['a=1', 'b=2'] })
  res.end()
})
app.post('/events', (req, res) => {
  req.context.dispatchWebSocketEvent({ type: 'news', message: req.body })
  req.context.dispatchWebSocketEvent()
  sendResult({}, 202, res)
})

mimikModule.exports = init(app)
