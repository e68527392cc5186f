// Opens a trace in speedscope in headless Chromium and prints what speedscope has understood of it:
//
//     node speedscope.js FOLDER-OF-SPEEDSCOPE TRACE SCREENSHOT.png
//
// {"tracks": [{"name": ..., "slices": N}], "frames": N, "errors": [...]}. The page is the published one. It gets the
// file as its command line gives it (localProfilePath), and is asked for its own export (Ctrl+S), which is counted.
// Chromium is told by its debugging protocol over a pipe: nothing but node and Chromium is needed.
const { spawn } = require('child_process'), fs = require('fs'), os = require('os'), path = require('path');
const [folder, trace, screenshot] = process.argv.slice(2);
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'viewer-'));

function browser() {
  const child = spawn('chromium', ['--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe',
    '--window-size=1400,800', '--allow-file-access-from-files', `--user-data-dir=${work}`],
  { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const waiting = new Map();
  let rest = '', last = 0;
  child.stdio[4].on('data', data => {
    rest += data;
    for (let end; (end = rest.indexOf('\0')) >= 0; rest = rest.slice(end + 1)) {
      const message = JSON.parse(rest.slice(0, end));
      if (waiting.has(message.id)) waiting.get(message.id)(message);
      waiting.delete(message.id);
    }
  });
  const call = (method, params = {}, sessionId) => new Promise((resolve, reject) => {
    waiting.set(++last, m => m.error ? reject(new Error(`${method}: ${m.error.message}`)) : resolve(m.result));
    child.stdio[3].write(JSON.stringify({ id: last, method, params, sessionId }) + '\0');
  });
  return { child, call };
}

const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

// What runs in the page before it: errors are kept, and what is exported stays here.
const spy = `window.seen = { errors: [], text: null };
  addEventListener('error', e => seen.errors.push(String(e.message)));
  const made = URL.createObjectURL;
  URL.createObjectURL = blob => { blob.text && blob.text().then(t => { seen.text = t; }); return made.call(URL, blob); };
  const click = HTMLAnchorElement.prototype.click;
  HTMLAnchorElement.prototype.click = function () { if (!this.download) click.call(this);
    else if (this.href.startsWith('data:')) seen.text = decodeURIComponent(this.href.slice(this.href.indexOf(',') + 1)); };`;

function count(text) {
  const file = JSON.parse(text);
  return {
    tracks: file.profiles.map(p => ({ name: p.name, slices: p.events.filter(e => e.type === 'O').length })),
    frames: file.shared.frames.length,
  };
}

async function main() {
  const data = fs.readFileSync(trace).toString('base64'), script = path.join(work, 'profile.js');
  fs.writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(path.basename(trace))}, "${data}")`);
  const { child, call } = browser();
  const { targetId } = await call('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await call('Target.attachToTarget', { targetId, flatten: true });
  const ask = async expression => (await call('Runtime.evaluate', { expression, returnByValue: true }, sessionId)).result.value;
  await call('Page.enable', {}, sessionId);
  await call('Page.addScriptToEvaluateOnNewDocument', { source: spy }, sessionId);
  const page = path.resolve(folder, 'dist/release/index.html');
  await call('Page.navigate', { url: `file://${page}#localProfilePath=${script}` }, sessionId);
  let text = null;
  for (let i = 0; i < 60 && !text; ++i) {
    await pause(500);
    const key = { modifiers: 2, key: 's', code: 'KeyS', windowsVirtualKeyCode: 83 };
    await call('Input.dispatchKeyEvent', { type: 'keyDown', ...key }, sessionId);
    await call('Input.dispatchKeyEvent', { type: 'keyUp', ...key }, sessionId);
    text = await ask('seen.text');
  }
  const { data: png } = await call('Page.captureScreenshot', { format: 'png' }, sessionId);
  fs.writeFileSync(screenshot, Buffer.from(png, 'base64'));
  const errors = await ask('seen.errors');
  if (!text) throw new Error(`speedscope exported nothing: ${errors}`);
  console.log(JSON.stringify({ ...count(text), errors }));
  const ended = new Promise(resolve => child.on('exit', resolve));
  await call('Browser.close').catch(() => {});
  await Promise.race([ended, pause(5000)]);
}

main().then(() => 0, error => (console.error(error.message), 1)).then(status => {
  fs.rmSync(work, { recursive: true, force: true, maxRetries: 5 });
  process.exit(status);
});
