// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import OrderedJSON

/// What service types are in plain words: the one table that the commands, the routes and the page have them from.
///
/// Which types there are says the IANA Service Name and Transport Protocol Port Number Registry (RFC 6335), and what
/// devices announce that never was registered; the words are nwpath's own.
public enum ServiceTypeNames {
    /// The words for a type, in any case of letters; the type as it is where there are none.
    public static func name(of type: String) -> String { names[type] ?? names[type.lowercased()] ?? type }

    /// The names of some types, by type.
    public static func names(of types: [String]) -> JSONValue {
        var object = JSONObject()
        for type in types { object[type] = .string(name(of: type)) }
        return .object(object)
    }

    private static let names = Dictionary(table, uniquingKeysWith: { first, _ in first })

    /// By what they are for, not by the alphabet.
    static let table: [(type: String, name: String)] = [
        // Printing and scanning.
        ("_ipp._tcp", "Printer"), ("_ipps._tcp", "Printer (TLS)"), ("_printer._tcp", "Printer (LPD)"),
        ("_pdl-datastream._tcp", "Printer (raw data)"), ("_riousbprint._tcp", "Printer (USB of a base station)"),
        ("_privet._tcp", "Printer (Cloud Print)"), ("_scanner._tcp", "Scanner"), ("_uscan._tcp", "Scanner (eSCL)"),
        ("_uscans._tcp", "Scanner (eSCL, TLS)"), ("_sane-port._tcp", "Scanner (SANE)"),
        ("_octoprint._tcp", "3D printer (OctoPrint)"), ("_moonraker._tcp", "3D printer (Klipper)"),

        // Pages and files.
        ("_http._tcp", "Web page"), ("_https._tcp", "Web page (TLS)"), ("_webdav._tcp", "File sharing (WebDAV)"),
        ("_webdavs._tcp", "File sharing (WebDAV, TLS)"), ("_smb._tcp", "File sharing (SMB)"),
        ("_afpovertcp._tcp", "File sharing (AFP)"), ("_nfs._tcp", "File sharing (NFS)"),
        ("_ftp._tcp", "File transfer (FTP)"), ("_tftp._udp", "File transfer (TFTP)"),
        ("_sftp-ssh._tcp", "File transfer (SFTP)"), ("_rsync._tcp", "File transfer (rsync)"),
        ("_adisk._tcp", "Backup disk (Time Machine)"), ("_iscsi._tcp", "Disk (iSCSI)"),
        ("_udisks-ssh._tcp", "Disks of a computer (SSH)"), ("_readynas._tcp", "NAS (ReadyNAS)"),
        ("_qdiscover._tcp", "NAS (QNAP)"), ("_bittorrent._tcp", "File sharing (BitTorrent)"),
        ("_airdrop._tcp", "AirDrop"), ("_fc9f5ed42c8a._tcp", "Quick Share"), ("_git._tcp", "Source code (Git)"),
        ("_apt_proxy._tcp", "Package cache (APT)"), ("_ptp._tcp", "Camera (PTP)"),

        // Computers from afar.
        ("_ssh._tcp", "Remote shell (SSH)"), ("_telnet._tcp", "Remote shell (Telnet)"),
        ("_rfb._tcp", "Screen sharing (VNC)"), ("_rdp._tcp", "Remote desktop (RDP)"),
        ("_net-assistant._udp", "Remote management (Apple)"), ("_eppc._tcp", "Remote Apple events"),
        ("_teamviewer._tcp", "Remote desktop (TeamViewer)"), ("_adb._tcp", "Android debugging"),
        ("_adb-tls-connect._tcp", "Android debugging (TLS)"), ("_adb-tls-pairing._tcp", "Android debugging (pairing)"),
        ("_distcc._tcp", "Compiler (distcc)"), ("_workstation._tcp", "Computer"),
        ("_device-info._tcp", "Device model"), ("_sleep-proxy._udp", "Sleep proxy"),

        // Telephones and tablets.
        ("_companion-link._tcp", "Apple device"), ("_apple-mobdev2._tcp", "iPhone or iPad"),
        ("_apple-pairable._tcp", "Apple device (pairing)"), ("_remotepairing._tcp", "Apple device (development)"),
        ("_kdeconnect._udp", "Phone link (KDE Connect)"),

        // Sound and pictures.
        ("_airplay._tcp", "AirPlay"), ("_raop._tcp", "AirPlay sound"), ("_googlecast._tcp", "Chromecast"),
        ("_spotify-connect._tcp", "Spotify Connect"), ("_sonos._tcp", "Speaker (Sonos)"),
        ("_soundtouch._tcp", "Speaker (Bose)"), ("_heos-audio._tcp", "Speaker (HEOS)"),
        ("_musc._tcp", "Speaker (Bluesound)"), ("_snapcast._tcp", "Synchronised speakers (Snapcast)"),
        ("_mpd._tcp", "Music player (MPD)"), ("_volumio._tcp", "Music player (Volumio)"),
        ("_slimcli._tcp", "Music server (Squeezebox)"), ("_daap._tcp", "Music library"),
        ("_dpap._tcp", "Photo library"), ("_dacp._tcp", "Remote control (iTunes)"),
        ("_touch-able._tcp", "Remote control (Apple TV)"), ("_touch-remote._tcp", "Remote control (pairing)"),
        ("_mediaremotetv._tcp", "Apple TV"), ("_appletv-v2._tcp", "Apple TV (home sharing)"),
        ("_home-sharing._tcp", "Home sharing"), ("_rsp._tcp", "Music library (Roku)"), ("_amzn-wplay._tcp", "Fire TV"),
        ("_amzn-alexa._tcp", "Alexa"), ("_androidtvremote2._tcp", "Android TV remote control"),
        ("_androidtvremote._tcp", "Android TV remote control"), ("_plexmediasvr._tcp", "Plex"),
        ("_xbmc-jsonrpc-h._tcp", "Kodi"), ("_nvstream._tcp", "Game streaming"), ("_rtsp._tcp", "Video stream (RTSP)"),
        ("_axis-video._tcp", "Camera (Axis)"), ("_ndi._tcp", "Video (NDI)"),
        ("_pulse-server._tcp", "Sound server (PulseAudio)"), ("_pulse-sink._tcp", "Sound output (PulseAudio)"),
        ("_pulse-source._tcp", "Sound input (PulseAudio)"), ("_netaudio-arc._udp", "Dante audio"),
        ("_netaudio-cmc._udp", "Dante audio (control)"), ("_apple-midi._udp", "MIDI"),

        // House.
        ("_hap._tcp", "HomeKit accessory"), ("_hap._udp", "HomeKit accessory (Thread)"),
        ("_homekit._tcp", "HomeKit hub"), ("_matter._tcp", "Matter device"),
        ("_matterc._udp", "Matter device (commissioning)"), ("_matterd._udp", "Matter controller"),
        ("_meshcop._udp", "Thread border router"), ("_trel._udp", "Thread over the local network"),
        ("_home-assistant._tcp", "Home Assistant"), ("_esphomelib._tcp", "ESPHome device"),
        ("_wyoming._tcp", "Voice assistant (Wyoming)"), ("_shelly._tcp", "Shelly device"),
        ("_hue._tcp", "Light bridge (Hue)"), ("_nanoleafapi._tcp", "Light (Nanoleaf)"),
        ("_elg._tcp", "Light (Elgato)"), ("_wled._tcp", "Light (WLED)"), ("_lutron._tcp", "Light bridge (Lutron)"),
        ("_plugwise._tcp", "Plugwise gateway"), ("_homewizard._tcp", "HomeWizard device"),
        ("_hwenergy._tcp", "Energy meter (HomeWizard)"), ("_enphase-envoy._tcp", "Solar gateway (Enphase)"),
        ("_homeconnect._tcp", "Household appliance"), ("_ewelink._tcp", "Sonoff device"),
        ("_miio._udp", "Xiaomi device"), ("_airport._tcp", "AirPort base station"), ("_fbx-api._tcp", "Freebox"),

        // Things and measurement.
        ("_mqtt._tcp", "MQTT broker"), ("_secure-mqtt._tcp", "MQTT broker (TLS)"), ("_coap._udp", "CoAP device"),
        ("_coaps._udp", "CoAP device (DTLS)"), ("_nut._tcp", "Power supply (NUT)"), ("_arduino._tcp", "Arduino board"),
        ("_lxi._tcp", "Measuring instrument (LXI)"), ("_vxi-11._tcp", "Measuring instrument (VXI-11)"),
        ("_scpi-raw._tcp", "Measuring instrument (SCPI)"), ("_hislip._tcp", "Measuring instrument (HiSLIP)"),
        ("_opcua-tcp._tcp", "Industrial data (OPC UA)"), ("_prometheus-http._tcp", "Metrics (Prometheus)"),
        ("_snmp._udp", "Network management (SNMP)"),

        // Servers.
        ("_ntp._udp", "Time server"), ("_domain._udp", "Name server"), ("_domain._tcp", "Name server"),
        ("_ldap._tcp", "Directory (LDAP)"), ("_ldaps._tcp", "Directory (LDAP, TLS)"),
        ("_kerberos._tcp", "Login server (Kerberos)"), ("_kerberos._udp", "Login server (Kerberos)"),
        ("_postgresql._tcp", "Database (PostgreSQL)"), ("_mysql._tcp", "Database (MySQL)"),
        ("_redis._tcp", "Database (Redis)"), ("_amqp._tcp", "Message broker (AMQP)"), ("_caldav._tcp", "Calendar"),
        ("_carddav._tcp", "Contacts"), ("_bitcoin._tcp", "Bitcoin node"),

        // People.
        ("_presence._tcp", "Chat"), ("_xmpp-client._tcp", "Chat server (XMPP)"),
        ("_xmpp-server._tcp", "Chat server (XMPP, others)"), ("_irc._tcp", "Chat server (IRC)"),
        ("_sip._udp", "Telephone (SIP)"), ("_sip._tcp", "Telephone (SIP)"), ("_mumble._tcp", "Voice chat (Mumble)"),
    ]
}
