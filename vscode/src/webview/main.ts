/** The hub's page in the view. What it finds around it has to be there before the page is loaded. */

import "./surroundings";
import "../../../packages/hub/web/src/main";
import "./theme.css";
