// Deterministic synthetic agent-session workload, shared by Node and Chromium benches.
export function rng(seed) {
  let s = seed >>> 0 || 1
  return () => {
    s ^= s << 13
    s >>>= 0
    s ^= s >>> 17
    s ^= s << 5
    s >>>= 0
    return s / 4294967296
  }
}
let CORPUS
function corpus() {
  if (CORPUS) return CORPUS
  const r = rng(7),
    A = 'etaoinshrdlucmfwypvbgk',
    words = []
  for (let i = 0; i < 3000; i++) {
    let w = ''
    const l = 2 + ((r() * r() * 12) | 0)
    for (let j = 0; j < l; j++) w += A[(r() * r() * A.length) | 0]
    words.push(w)
  }
  const parts = []
  let len = 0
  while (len < 600000) {
    const w = words[(r() * r() * r() * 3000) | 0]
    parts.push(w, r() < 0.08 ? '\n  ' : r() < 0.05 ? '", ' : ' ')
    len += w.length + 1
  }
  return (CORPUS = parts.join(''))
}
const text = (r, n) => {
  const c = corpus(),
    o = (r() * (c.length - n - 1)) | 0
  return c.slice(o, o + n)
}
const id = r => {
  let s = ''
  for (let i = 0; i < 3; i++) s += ((r() * 0xffffff) | 0).toString(36).padStart(5, '0')
  return s
}
export function makeEvents(n, variant = 'real', seed = 1) {
  const r = rng(seed * 7919 + 13),
    out = []
  let turn = 0,
    step = 0,
    t = 1.76e12
  const push = (type, data, surface) => {
    if (out.length < n) {
      t += (r() * 400) | 0
      const e = { type, seq: out.length, time: t, data }
      if (surface) e.surfaceOp = 'append'
      out.push(e)
    }
  }
  const provider = 'deepseek',
    model = 'deepseek-chat'
  while (out.length < n) {
    turn++
    push('turn/start', { turn })
    push(
      'user/message',
      {
        id: id(r),
        role: 'user',
        source: { kind: 'user' },
        content: [{ type: 'text', text: text(r, variant === 'real' ? 400 : 120) }],
      },
      true,
    )
    const steps = 3 + ((r() * 6) | 0)
    for (let k = 0; k < steps && out.length < n; k++) {
      step++
      push('step/start', { turn, step })
      if (step % 12 === 1)
        push('request/header', {
          header: { config: { provider, model, maxTokens: 8192 }, system: text(r, variant === 'real' ? 1800 : 80) },
          reason: 'change',
        })
      const callId = 'call_' + id(r)
      const body = text(r, variant === 'real' ? 2000 : 150)
      const data = {
        turn,
        step,
        message: {
          id: id(r),
          role: 'assistant',
          source: { kind: 'model', provider, model },
          content: [{ type: 'text', text: body }],
        },
        usage: { inputTokens: (r() * 9e4) | 0, outputTokens: (r() * 900) | 0 },
      }
      if (variant === 'real') {
        const ds = []
        let p = 0
        for (let i = 0; i < 150; i++) {
          const q = i === 149 ? body.length : Math.min(body.length, p + 6 + ((r() * 14) | 0))
          ds.push({ t: (r() * 60) | 0, d: body.slice(p, q) })
          p = q
        }
        data.stream = ds
      }
      push('assistant/message', data, true)
      push('tool/call', {
        turn,
        step,
        callId,
        name: 'bash',
        arguments: JSON.stringify({ command: text(r, variant === 'real' ? 170 : 40) }),
      })
      const size = variant === 'real' ? (r() < 0.03 ? 50000 : 1500 + ((r() * 3000) | 0)) : 100
      push(
        'tool/result',
        {
          turn,
          step,
          message: {
            id: id(r),
            role: 'user',
            source: { kind: 'tool', callId },
            content: [{ type: 'tool-result', toolCallId: callId, content: [{ type: 'text', text: text(r, size) }] }],
          },
        },
        true,
      )
      push('step/end', { turn, step })
    }
    push('turn/end', { turn, reason: { kind: 'completed' } })
  }
  // Flatten sliced strings so heap and clone costs are those of ordinary decoded data.
  for (let i = 0; i < out.length; i++) out[i] = JSON.parse(JSON.stringify(out[i]))
  return out
}
export function snapshot(v) {
  // quick detached JSON snapshot (recursive, plain data only)
  if (v === null || typeof v === 'string' || typeof v === 'boolean') return v
  if (typeof v === 'number') {
    if (!Number.isFinite(v)) throw new TypeError('non-finite')
    return v
  }
  if (typeof v !== 'object') throw new TypeError('not JSON')
  if (Array.isArray(v)) {
    const n = v.length,
      a = new Array(n)
    for (let i = 0; i < n; i++) a[i] = snapshot(v[i])
    return a
  }
  const p = Object.getPrototypeOf(v)
  if (p !== Object.prototype && p !== null) throw new TypeError('not plain')
  const o = {}
  for (const k in v) o[k] = snapshot(v[k])
  return o
}
export function deepFreeze(v) {
  if (v !== null && typeof v === 'object') {
    if (Array.isArray(v)) for (let i = 0; i < v.length; i++) deepFreeze(v[i])
    else for (const k in v) deepFreeze(v[k])
    Object.freeze(v)
  }
  return v
}
export function snapFreeze(v) {
  // one walk: copy + freeze
  if (v === null || typeof v !== 'object') {
    if (typeof v === 'number' && !Number.isFinite(v)) throw new TypeError('non-finite')
    return v
  }
  if (Array.isArray(v)) {
    const n = v.length,
      a = new Array(n)
    for (let i = 0; i < n; i++) a[i] = snapFreeze(v[i])
    return Object.freeze(a)
  }
  const o = {}
  for (const k in v) o[k] = snapFreeze(v[k])
  return Object.freeze(o)
}
export const med = a => {
  const s = [...a].sort((x, y) => x - y)
  return s[s.length >> 1]
}
export const pct = (a, p) => {
  const s = [...a].sort((x, y) => x - y)
  return s[Math.min(s.length - 1, (s.length * p) | 0)]
}

/**
 * The same session in the shape of format v3, `n` events: the prompt is a system message inside the first step, not a
 * part of the request header; a turn's user message stands inside its first step; steps restart in each turn; a tool
 * call is advertised by its assistant message; deltas are a run of columns (`real`) or left out (`small`).
 */
export function makeV3Events(n, variant = 'real', seed = 1) {
  const source = makeEvents(n, variant, seed),
    out = []
  let held = null,
    step = 0,
    systemText = null,
    headers = 0
  for (let i = 0; i < source.length; i++) {
    const e = source[i]
    if (e.type === 'request/header') {
      systemText = e.data.header.system
      break
    }
  }
  const push = (event, type, data, surface) => {
    if (out.length < n) {
      const e = { type, seq: out.length, time: event.time, data }
      if (surface) e.surfaceOp = 'append'
      out.push(e)
    }
  }
  for (let i = 0; i < source.length; i++) {
    const e = source[i],
      d = e.data
    if (e.type === 'turn/start') {
      step = 0
      push(e, e.type, d)
    } else if (e.type === 'user/message') held = e
    else if (e.type === 'step/start') {
      push(e, e.type, { turn: d.turn, step: ++step })
      if (systemText !== null) {
        push(
          e,
          'system/message',
          {
            turn: d.turn,
            step,
            message: {
              id: 'system-1',
              role: 'system',
              source: { kind: 'plugin', plugin: 'system-prompt' },
              content: [{ type: 'text', text: systemText }],
            },
          },
          true,
        )
        systemText = null
      }
      if (held) {
        push(e, held.type, held.data, true)
        held = null
      }
    } else if (e.type === 'request/header')
      push(e, e.type, { header: { config: d.header.config }, reason: headers++ === 0 ? 'initial' : 'series' })
    else if (e.type === 'assistant/message') {
      const next = source[i + 1],
        call =
          next && next.type === 'tool/call'
            ? { type: 'tool-call', id: next.data.callId, name: next.data.name, arguments: next.data.arguments }
            : null
      const message = { ...d.message, content: call ? [...d.message.content, call] : d.message.content }
      push(
        e,
        e.type,
        {
          turn: d.turn,
          step,
          message,
          stream: d.stream ? packStream(e.time, d.stream, message.content, d.usage) : [],
          usage: d.usage,
        },
        true,
      )
    } else if ('step' in d) push(e, e.type, { ...d, step }, e.surfaceOp === 'append')
    else push(e, e.type, d)
  }
  for (let i = 0; i < out.length; i++) out[i] = JSON.parse(JSON.stringify(out[i]))
  return out
}
/** Records of one answer: a text block in as many deltas as the original had, then its tool call in a few. */
function packStream(end, deltas, content, usage) {
  const [text, call] = content
  let time = end
  for (const delta of deltas) time -= delta.t
  const records = [],
    chunk = c => records.push({ type: 'chunk', time, chunk: c })
  chunk({ type: 'block-start', index: 0, blockType: 'text' })
  time += deltas[0].t
  records.push({
    type: 'text-chunks',
    time0: time,
    index: 0,
    dt: deltas.slice(1).map(x => x.t),
    texts: deltas.map(x => x.d),
  })
  time = end
  chunk({ type: 'block-end', index: 0, block: text })
  if (call) {
    const args = []
    for (let p = 0; p < call.arguments.length; p += 24) args.push(call.arguments.slice(p, p + 24))
    chunk({ type: 'block-start', index: 1, blockType: 'tool-call' })
    records.push({
      type: 'tool-call-chunks',
      time0: time,
      index: 1,
      dt: args.slice(1).map(() => 0),
      id: call.id,
      name: call.name,
      args,
    })
    chunk({ type: 'block-end', index: 1, block: call })
  }
  chunk({ type: 'usage', usage })
  chunk({ type: 'finish', reason: { kind: call ? 'tool-calls' : 'stop' } })
  return records
}
