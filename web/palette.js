// Colours that stay apart for every kind of colour vision (Okabe and Ito 2008 for the seats), and a
// mark for each seat, so that colour is never the only difference. The object is strict JSON.
export default {
  "seats": [
    { "fill": "#0072b2", "ink": "#ffffff", "mark": "disc" },
    { "fill": "#e69f00", "ink": "#2b1d00", "mark": "triangle" },
    { "fill": "#00805d", "ink": "#ffffff", "mark": "square" },
    { "fill": "#cc79a7", "ink": "#2b0a1d", "mark": "diamond" },
    { "fill": "#c04e00", "ink": "#ffffff", "mark": "cross" },
    { "fill": "#56b4e9", "ink": "#06283d", "mark": "star" }
  ],
  "guard": { "fill": "#5b5e66", "ink": "#f4f1e8" },
  "tiles": {
    "minus": { "light": "#f8e6da", "deep": "#ec9c80", "ink": "#6b1d0b" },
    "plus": { "light": "#e2edf8", "deep": "#93bfe8", "ink": "#0b3a66" },
    "lucky": { "fill": "#f5dc86", "ink": "#4a5a12" },
    "gift": { "fill": "#eadcf3", "ink": "#5b2d82" },
    "steal": { "fill": "#cfc4e0", "ink": "#33204f" },
    "end": { "fill": "#fbf7ec", "ink": "#3c4a43" }
  }
};
