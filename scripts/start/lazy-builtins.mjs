/** Modules of Node.js in a bundle are loaded at their first use: TLS, compression, workers and child processes are not part of a start. */
import { parseAst } from 'rolldown/parseAst'

const required = /^(?:let|const) (node_\w+) = require\("(node:[\w/]+)"\);$/gm

/** A plugin of the bundler. In its output an import of `node:tls` is a variable `node_tls`; it becomes a function. */
export const lazyBuiltins = {
  name: 'lazy-builtins',
  renderChunk(code) {
    const modules = new Map()
    const body = code.replace(required, (line, name, module) => {
      // An imported default is a second variable, made at once.
      if (code.includes(`\n${name} = `)) return line
      modules.set(name, module)
      return ''
    })
    const loaders = [...modules].map(
      ([name, module]) => `let ${name}$;function ${name}(){return ${name}$??=require("${module}")}`,
    )
    return { code: `${loaders.join('\n')}\n${withCalls(body, modules)}`, map: null }
  },
}

/** Source in which each use of a variable is a call. */
function withCalls(source, names) {
  const parts = []
  let end = 0
  for (const use of usesOf(parseAst(source), names).sort((a, b) => a.end - b.end)) {
    // In brackets, so that `new node_net.BlockList()` makes a BlockList.
    parts.push(source.slice(end, use.start), `(${use.name}())`)
    end = use.end
  }
  return parts.join('') + source.slice(end)
}

/** Every identifier with one of the names. The bundler gives no other variable such a name; a member is no variable. */
function usesOf(program, names) {
  const found = []
  const visit = (node, key, parent) => {
    if (Array.isArray(node)) for (const each of node) visit(each, key, parent)
    else if (typeof node?.type === 'string') {
      const isMember =
        (key === 'property' || key === 'key') && !parent.computed && parent.type !== 'ImportExpression'
      if (node.type === 'Identifier' && names.has(node.name) && !isMember) found.push(node)
      for (const [each, value] of Object.entries(node)) visit(value, each, node)
    }
  }
  visit(program)
  return found
}
