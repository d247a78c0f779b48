import{A as u,B as A,k as b,l as g,m as f,n as $,o as v,p as w,s as y,t as T,u as k,v as S,w as E,x as R,z as d}from"./chunk-I2RDZLO2.js";import"./chunk-ZJ4CVRKE.js";import{a as h}from"./chunk-NQQTPCLZ.js";import{e as H}from"./chunk-MGGEZUAT.js";import{a as o,c as i,g as l,i as m}from"./chunk-5VEC5YR5.js";import"./chunk-SQE76S5B.js";function M(s){let t=s.home;return o`<section class="sheet" aria-labelledby="settings-title">
    <header class="board-head"><a class="round quiet back" href="#/" aria-label="Back to the inbox">${m("back")}</a><h2 id="settings-title">Settings</h2><span class="faint">of this browser</span></header>
    <div class="sheet-body">
      ${h.isEmbedded?i:B(t,"Theme","As your system has it, or always the same.",y,k(),E)}
      ${B(t,"Density","How much room everything has.",T,S(),R)}
      ${h.isEmbedded?i:o`${N(t)}${O(t)}${q(s)}`}
      <section class="setting tall-setting"><div><h3>Keys</h3><p class="faint">Nothing is taken from somebody who writes.</p></div>
        <dl class="keys">${H.map(([n,e])=>o`<dt><kbd>${n}</kbd></dt><dd>${e}</dd>`)}</dl></section>
      ${h.isEmbedded?i:o`<section class="setting"><div><h3>This browser</h3><p class="faint">Your token may ${[...t.scopes].join(", ")||"do everything"}.</p></div>
        <button type="button" class="small danger" @click=${()=>t.signOut()}>Sign out</button></section>`}
    </div></section>`}function B(s,t,n,e,a,c){return o`<section class="setting"><div><h3>${t}</h3><p class="faint">${n}</p></div>
    <div class="segments" role="group" aria-label=${t}>${e.map(r=>o`<button type="button" class="segment" aria-pressed=${String(r===a)}
      @click=${()=>{c(r),s.changed()}}>${r[0].toUpperCase()+r.slice(1)}</button>`)}</div></section>`}function N(s){let t=d()&&Notification.permission==="denied",n=d()?t?"This browser was told to show none from here; its own settings can change that.":"What waits for you, and turns that end, while the page is not looked at.":"This browser shows none.";return o`<section class="setting"><div><h3>Notifications</h3><p class="faint">${n}</p></div>
    <button type="button" class="small" ?disabled=${!d()||t} aria-pressed=${String(u())}
      @click=${()=>{A().then(()=>s.changed())}}>${u()?"Switch off":"Switch on"}</button></section>`}var p="";function O(s){let t=b()||(s.health==="live"?"":"The hub cannot be asked now."),n=t||p||"Questions and permissions, and turns that end while nobody has the session open. The message names no file and quotes nobody.",e=g(),a=()=>{w(s.rpc,!e).then(()=>p="",c=>p=`It does not work: ${l(c.message)}.`).then(()=>s.changed())};return o`<section class="setting"><div><h3>Also when the page is closed</h3><p class="faint" role="status">${n}</p></div>
    <button type="button" class="small" ?disabled=${!!t} aria-pressed=${String(e)} @click=${a}>${e?"Switch off":"Switch on"}</button></section>
    ${e&&s.may("approve")?D(s):i}`}function D(s){let t=$(),n=f(),e=n||"Allow once and Reject, where the rules found nothing grave. They work on a locked screen too, for whoever holds this device.",a=()=>{v(s.rpc,!t).catch(c=>s.say(`It does not work: ${l(c.message)}.`)).then(()=>s.changed())};return o`<section class="setting"><div><h3>Buttons in notifications</h3><p class="faint">${e}</p></div>
    <button type="button" class="small" ?disabled=${!!n||s.health!=="live"} aria-pressed=${String(t)} @click=${a}>${t?"Switch off":"Switch on"}</button></section>`}var I={live:"connected",connecting:"connecting",offline:"not connected",refused:"refused"};function q(s){let t=e=>o`<li><span class="dot ${e.health==="live"?"idle":"failed"}"></span>
    <span><strong>${l(e.hub.name)}</strong> <span class="faint">${l(e.hub.address)} · ${I[e.health]}</span></span>
    <button type="button" class="small danger" @click=${()=>s.remove(e.key)}>Remove</button></li>`,n=s.all().filter(e=>e.hub);return o`<section class="setting ${n.length?"tall-setting":""}"><div><h3>Other hubs</h3><p class="faint">Their sessions and questions stand beside those of this hub. Their tokens are kept in this browser until you sign out.</p></div>
    <div class="other-hubs">${n.length?o`<ul>${n.map(t)}</ul>`:i}
      <button type="button" class="small" @click=${()=>document.dispatchEvent(new CustomEvent("add-hub"))}>Add a hub</button></div></section>`}export{M as settingsView};
